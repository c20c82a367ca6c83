package opensearch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/web"
)

func TestOptionsDefaults(t *testing.T) {
	o := withDefaults(Options{})
	_, err := New(o)
	require.NoError(t, err)
	require.Equal(t, "localhost", o.Host)
	require.Equal(t, 9200, o.Port)
}

func TestOptionsAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		options Options
		says    string
	}{
		"port":    {Options{Access: web.Access{Port: 70000}}, "opensearch options: port 70000: must be 1 to 65535"},
		"timeout": {Options{Access: web.Access{Timeout: -time.Second}}, "must be positive values"},
		"bytes":   {Options{Access: web.Access{MaxBytes: -1}}, "must be positive values"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(c.options)
			require.ErrorContains(t, err, c.says)
		})
	}
}
