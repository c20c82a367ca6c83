package oracle

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// What people are told was checked is what DESIGN.md says, and every name that
// the oracle accuses of is among it.
func TestInvariantsAreThoseOfTheDesign(t *testing.T) {
	design, err := os.ReadFile("../DESIGN.md")
	require.NoError(t, err)
	var want string
	for _, row := range regexp.MustCompile(`(?m)^\| [ILGV]\d+ \| .* \|$`).FindAllString(string(design), -1) {
		want += row + "\n"
	}
	var got string
	known := map[string]bool{}
	for _, i := range Invariants {
		got += fmt.Sprintf("| %s | %s |\n", i.Name, i.What)
		known[i.Name] = true
	}
	require.Equal(t, want, got)
	for _, file := range []string{"oracle.go", "removal.go", "volumes.go", "labels.go", "galera.go"} {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		accused := regexp.MustCompile(`Accuse\("([^"]+)"`).FindAllSubmatch(source, -1)
		require.NotEmpty(t, accused, file)
		for _, a := range accused {
			require.True(t, known[string(a[1])], "%s accuses of %s", file, a[1])
		}
	}
}
