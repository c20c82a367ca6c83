package built

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/race"
)

var from = regexp.MustCompile(`(?m)^FROM (?:--platform=\S+ )?(\S+)`)

// What is in an image is what is built here: nobody else's base comes along.
func TestImagesHaveNoBase(t *testing.T) {
	for _, part := range []string{"agent", "coordinator"} {
		text, err := os.ReadFile("../../deploy/docker/" + part + ".Dockerfile")
		require.NoError(t, err)
		var stages []string
		for _, found := range from.FindAllStringSubmatch(string(text), -1) {
			stages = append(stages, found[1])
		}
		require.Equal(t, []string{"$GO_IMAGE", "scratch"}, stages, part)
		require.Contains(t, string(text), "CGO_ENABLED=0")
		require.Contains(t, string(text), "\nUSER 65532:65532\n")
	}
}

// A scan that did not take place is not taken for one that found nothing.
func TestVulnerabilitiesThatWereNotLookedUpAreNotNone(t *testing.T) {
	race.Night(t)
	cmd := exec.CommandContext(t.Context(), "make", "-C", "../..", "vuln", "GOVULNDB=file:///none")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "*** NOT CHECKED for vulnerabilities")
	require.Contains(t, string(out), "make vuln GOVULNDB=file:///path/to/vulndb")
}
