package replication

import (
	"testing"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/stretchr/testify/require"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]Version{
		"8.4.3":                      {MySQL, engines.Version{Major: 8, Minor: 4, Patch: 3}},
		"9.7.4-2":                    {MySQL, engines.Version{Major: 9, Minor: 7, Patch: 4}},
		"8.0.36-28.1-log":            {MySQL, engines.Version{Major: 8, Minor: 0, Patch: 36}},
		"10.11.19-MariaDB-0+deb12u1": {MariaDB, engines.Version{Major: 10, Minor: 11, Patch: 19}},
		"5.5.5-10.11.2-MariaDB-log":  {MariaDB, engines.Version{Major: 10, Minor: 11, Patch: 2}},
		"12.1.2-mariadb":             {MariaDB, engines.Version{Major: 12, Minor: 1, Patch: 2}},
	} {
		got, err := ParseVersion(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "8", "8.4", "8.4.x", "a.b.c", "8.4.99999999", "MariaDB"} {
		_, err := ParseVersion(text)
		require.Error(t, err, text)
	}
}
