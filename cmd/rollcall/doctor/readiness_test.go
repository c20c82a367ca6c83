package doctor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadinessThatContradictsTLS checks that a readiness probe is named that cannot succeed by what else
// the manifest says.
func TestReadinessThatContradictsTLS(t *testing.T) {
	const (
		image = "          image: solr:9.10\n"
		plain = "readinessProbe: {httpGet: {path: /solr/admin/info/health, port: 8983}}"
	)
	for name, tt := range map[string]struct{ env, probe, want string }{
		"fine":            {"", plain, ""},
		"both by TLS":     {"{name: SOLR_SSL_ENABLED, value: 'true'}", strings.Replace(plain, "8983", "8983, scheme: HTTPS", 1), ""},
		"by HTTP":         {"{name: SOLR_SSL_ENABLED, value: 'true'}", plain, "warning readiness: the readiness probe of container solr asks by HTTP, and its servers want TLS (SOLR_SSL_ENABLED is true): where they speak TLS alone, no pod becomes Ready"},
		"by a command":    {"{name: SOLR_SSL_ENABLED, value: 'true'}", "readinessProbe: {exec: {command: [sh, -c, 'curl http://localhost:${SOLR_PORT}/api/node/health']}}", "warning readiness: the readiness probe of container solr asks by HTTP"},
		"of another port": {"{name: SOLR_SSL_ENABLED, value: 'true'}", "readinessProbe: {exec: {command: [sh, -c, 'curl http://localhost:9854/metrics']}}", ""},
		"by HTTPS":        {"{name: SOLR_SSL_ENABLED, value: 'false'}", strings.Replace(plain, "8983", "8983, scheme: HTTPS", 1), "warning readiness: the readiness probe of container solr asks by HTTPS, and its servers speak no TLS (SOLR_SSL_ENABLED is false)"},
	} {
		manifest := strings.NewReplacer(image, image+"          env: ["+tt.env+"]\n", plain, tt.probe).Replace(fine)
		var got []string
		for _, line := range examine(t, manifest, nil) {
			if strings.Contains(line, " readiness: ") {
				got = append(got, line)
			}
		}
		if tt.want == "" {
			require.Empty(t, got, name)
			continue
		}
		require.Len(t, got, 1, name)
		require.Contains(t, got[0], tt.want, name)
		require.NotContains(t, strings.Join(examine(t, manifest, live), "\n"), " readiness: ", "%s: pods that run say it", name)
	}
}
