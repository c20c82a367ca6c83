package opensearch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOptionsDefaults(t *testing.T) {
	o := Options{}.withDefaults()
	base := o.base()
	require.Equal(t, "http://localhost:9200", base.String())
	require.NoError(t, o.validate())

	o = Options{Host: "fd00::1", Port: 1234, TLS: TLS{Enabled: true}}.withDefaults()
	base = o.base()
	require.Equal(t, "https://[fd00::1]:1234", base.String())
	require.NoError(t, o.validate())
}

func TestOptionsAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		options Options
		says    string
	}{
		"port":         {Options{Port: 70000}, "port 70000: want 1 to 65535"},
		"host":         {Options{Host: "user:pw@host"}, "want a host name"},
		"host path":    {Options{Host: "host/path"}, "want a host name"},
		"timeout":      {Options{Timeout: -time.Second}, "want positive values"},
		"bytes":        {Options{MaxBytes: -1}, "want positive values"},
		"ca":           {Options{TLS: TLS{Enabled: true, CA: "no PEM"}}, "ca: want at least one PEM certificate"},
		"tls disabled": {Options{TLS: TLS{InsecureSkipVerify: true}}, "tls is not enabled"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(c.options)
			require.ErrorContains(t, err, c.says)
		})
	}
}
