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
	pkg, err := build.ImportDir(".", 0)
	require.NoError(t, err)
	for _, path := range pkg.Imports {
		first, _, _ := strings.Cut(path, "/")
		require.NotContains(t, first, ".", "%s is not of the standard library", path)
		switch first {
		case "os", "net", "log", "context", "syscall", "unsafe":
			t.Errorf("%s is imported", path)
		}
	}
}
