package web

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAddresses(t *testing.T) {
	base := testOptions("localhost", 9200).base()
	require.Equal(t, "http://localhost:9200", base.String())
	o := testOptions("fd00::1", 1234)
	o.TLS.Enabled = true
	base = o.base()
	require.Equal(t, "https://[fd00::1]:1234", base.String())
	require.NoError(t, o.Validate())
}

func TestOptionsAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		says   string
	}{
		"port":         {func(o *Options) { o.Port = 70000 }, "port 70000: must be 1 to 65535"},
		"no port":      {func(o *Options) { o.Port = 0 }, "port 0: must be 1 to 65535"},
		"host":         {func(o *Options) { o.Host = "user:pw@host" }, "must be a host name"},
		"host path":    {func(o *Options) { o.Host = "host/path" }, "must be a host name"},
		"timeout":      {func(o *Options) { o.Timeout = -1 }, "must be positive values"},
		"bytes":        {func(o *Options) { o.MaxBytes = 0 }, "must be positive values"},
		"ca":           {func(o *Options) { o.TLS = TLS{Enabled: true, CA: "no PEM"} }, "ca: must be at least one PEM certificate"},
		"tls disabled": {func(o *Options) { o.TLS = TLS{InsecureSkipVerify: true} }, "tls is not enabled"},
	} {
		t.Run(name, func(t *testing.T) {
			o := testOptions("localhost", 9200)
			c.change(&o)
			_, err := New(o)
			require.ErrorContains(t, err, c.says)
		})
	}
}
