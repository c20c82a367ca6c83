package rollout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A result that learn does not know would crash the coordinator.
func TestEachResultIsLearned(t *testing.T) {
	source, err := os.ReadFile("learn.go")
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join("effect", "*.go"))
	require.NoError(t, err)
	results := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "result" {
				results++
				require.Contains(t, string(source), "case effect."+f.Recv.List[0].Type.(*ast.Ident).Name+":")
			}
		}
	}
	require.Equal(t, 18, results)
}
