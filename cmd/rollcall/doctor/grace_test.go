package doctor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGracePeriodsOfCharts checks that the value is named as the chart calls it.
func TestGracePeriodsOfCharts(t *testing.T) {
	short := strings.Replace(fine, "terminationGracePeriodSeconds: 300", "terminationGracePeriodSeconds: 60", 1)
	require.Contains(t, examine(t, short, nil)[0], "| set spec.template.spec.terminationGracePeriodSeconds: 300 (drain.timeoutSeconds)")
	charted := strings.NewReplacer("labels: {rollcall.dev/cluster: search}", "labels: {rollcall.dev/cluster: search, helm.sh/chart: opensearch-3.6.0}",
		"image: solr:9.10", "image: opensearch:3\n          env: [{name: discovery.seed_hosts, value: all}]").Replace(short)
	require.Contains(t, strings.Join(examine(t, charted, nil), "\n"), "| set terminationGracePeriod: 300 in the values of chart opensearch-3.6.0 (drain.timeoutSeconds)")
}
