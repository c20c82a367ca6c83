package solrtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCoreStacks(t *testing.T) {
	makes := "\"qtp-1\" #7\n\tat org.apache.solr.core.CoreContainer.create(CoreContainer.java:1)"
	deep := "\"qtp-2\" #8\n" + strings.Repeat("\tat org.apache.solr.cloud.ZkController.register(ZkController.java:1)\n", 60)
	said := strings.Join([]string{
		"Full thread dump", "\"main\" #1\n\tat java.lang.Object.wait", makes, strings.TrimSpace(deep),
		"a line of org.apache.solr.core.SolrCore", "",
	}, "\n\n")
	stacks := coreStacks("INFO org.apache.solr.core.SolrCore opened\n" + said)
	require.Len(t, stacks, 2)
	require.Equal(t, makes, stacks[0])
	require.Equal(t, 24, strings.Count(stacks[1], "\n"))
	require.Equal(t, []string{"no dump of threads"}, coreStacks("INFO org.apache.solr.core.SolrCore opened"))
}
