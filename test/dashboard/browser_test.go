package dashboard

import (
	"bytes"
	"errors"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRealBrowserDrawsIt checks that nothing sticks out of a panel, and no two lie on each other.
func TestRealBrowserDrawsIt(t *testing.T) {
	v, d := view(t)
	var out bytes.Buffer
	require.NoError(t, v.Draw(t.Context(), &out, d, "drawn by test/dashboard, not by Grafana"))
	picture, problems, err := Picture(t.Context(), out.Bytes(), 0)
	if errors.Is(err, ErrNoBrowser) && !strings.Contains(os.Getenv("ROLLCALL_REQUIRE"), "chromium") {
		t.Skip("no Chromium is installed")
	}
	require.NoError(t, err)
	require.Empty(t, problems)
	image, err := png.DecodeConfig(bytes.NewReader(picture))
	require.NoError(t, err)
	require.Equal(t, pageWidth, image.Width)
	require.Greater(t, image.Height, 2000)
	if folder := os.Getenv("ROLLCALL_SCREENSHOTS"); folder != "" {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "dashboard.png"), picture, 0o600))
	}
}
