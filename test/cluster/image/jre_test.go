package image

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRelinkStaysBelowTheRoot(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"etc/java", "usr/lib/jvm/java/conf"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "etc/java/net.properties"), []byte("x=1"), 0o600))
	absolute := filepath.Join(root, "usr/lib/jvm/java/conf/net.properties")
	require.NoError(t, os.Symlink("/etc/java/net.properties", absolute))
	relative := filepath.Join(root, "usr/lib/jvm/default")
	require.NoError(t, os.Symlink("java", relative))

	require.NoError(t, relink(root))

	text, err := os.ReadFile(absolute)
	require.NoError(t, err)
	require.Equal(t, "x=1", string(text))
	target, err := os.Readlink(relative)
	require.NoError(t, err)
	require.Equal(t, "java", target)
}
