package image

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFoundationDBOfAFolder checks that what is missing in the folder is said.
func TestFoundationDBOfAFolder(t *testing.T) {
	b, folder := builder(t), t.TempDir()
	_, err := b.FoundationDBOf(t.Context(), folder)
	require.ErrorIs(t, err, ErrNoFoundationDB)
	require.ErrorContains(t, err, filepath.Join(folder, "fdbserver"))
	require.ErrorContains(t, err, "the folder must have fdbserver and fdbcli")
	shell, err := os.ReadFile("/bin/sh")
	require.NoError(t, err)
	for _, name := range []string{"fdbserver", "fdbcli"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), shell, 0o755))
	}
	files, err := foundationDBFiles(t.Context(), folder)
	require.NoError(t, err)
	require.Equal(t, "usr/bin/fdbserver", files[0].Path)
}

// TestLinkedLibraries checks what is read of ldd.
func TestLinkedLibraries(t *testing.T) {
	require.Equal(t, []string{"/lib/x86_64-linux-gnu/libssl.so.3", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"}, linkedLibraries(`	linux-vdso.so.1 (0x00007ffc)
	libssl.so.3 => /lib/x86_64-linux-gnu/libssl.so.3 (0x00007f01)
	libstdc++.so.6 => /usr/lib/x86_64-linux-gnu/libstdc++.so.6 (0x00007f02)
	libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f03)
	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f04)
	/lib64/ld-linux-x86-64.so.2 (0x00007f05)
`))
}
