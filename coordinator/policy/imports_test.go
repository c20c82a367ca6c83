package policy

import (
	"go/build"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStandardLibraryOnly: a decision depends on nothing that has to be
// fetched, and on nothing that looks at a clock's wall, a file or the network.
func TestStandardLibraryOnly(t *testing.T) {
	const own = "github.com/rollcall-dev/rollcall/coordinator/model"
	var imports []string
	for _, dir := range []string{".", "../model"} {
		pkg, err := build.ImportDir(dir, 0)
		require.NoError(t, err)
		imports = append(imports, pkg.Imports...)
	}
	require.Contains(t, imports, own)
	for _, path := range imports {
		if path == own {
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
