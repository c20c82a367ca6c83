package agent

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/config"
)

// TestSameDatabase checks that the adapter is made anew for all that it is made of: also when only the
// consent to a Secret has changed.
func TestSameDatabase(t *testing.T) {
	file := func(change func(*config.File)) config.File {
		f := config.File{Engine: "Solr", Secrets: map[string]config.Secret{"a": {}}}
		change(&f)
		return f
	}
	before := file(func(*config.File) {})
	require.True(t, sameDatabase(before, file(func(f *config.File) { f.Drain.Evacuate, f.Service = true, "x" })))
	for name, change := range map[string]func(*config.File){
		"port":        func(f *config.File) { f.Connection.Port = 1 },
		"certificate": func(f *config.File) { f.Connection.TLS.Cert = "x" },
		"consent":     func(f *config.File) { f.Secrets["a"] = config.Secret{Refused: "no label"} },
		"another":     func(f *config.File) { f.Secrets["b"] = config.Secret{} },
		"copy":        func(f *config.File) { f.Copied = "b" },
	} {
		require.False(t, sameDatabase(before, file(change)), name)
	}
}
