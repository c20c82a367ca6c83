package policy

import (
	"go/build"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A decision depends on nothing that has to be fetched, and on nothing that looks at a clock's
// wall, a file or the network.
func TestStandardLibraryOnly(t *testing.T) {
	const rooms = "github.com/rollcall-dev/rollcall/coordinator/"
	own := []string{rooms + "model", rooms + "policy/cluster", rooms + "policy/forecast"}
	var imports []string
	for _, dir := range []string{".", "cluster", "forecast", "../model"} {
		pkg, err := build.ImportDir(dir, 0)
		require.NoError(t, err)
		imports = append(imports, pkg.Imports...)
	}
	require.Subset(t, imports, own)
	for _, path := range imports {
		if slices.Contains(own, path) {
			continue
		}
		first, _, _ := strings.Cut(path, "/")
		require.NotContains(t, first, ".", "%s is not of the standard library", path)
		switch first {
		case "os", "net", "log", "context", "syscall", "unsafe":
			t.Errorf("%s is imported", path)
		}
	}
}
