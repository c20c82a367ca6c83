package security

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What security.md says is shown by a test is shown by one that exists.
func TestNamedTestsExist(t *testing.T) {
	const root = "../.."
	page, err := os.ReadFile(filepath.Join(root, "deploy/docs/security.md"))
	require.NoError(t, err)
	names := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(names), 5)
	var tests strings.Builder
	for _, dir := range []string{"agent", "coordinator", "test/security"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			tests.Write(text)
			return err
		}))
	}
	for _, name := range names {
		require.Contains(t, tests.String(), "func "+name[1]+"(t ", name[1])
	}
}
