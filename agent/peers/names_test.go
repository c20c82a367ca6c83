package peers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/gossip"
	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func TestNodesOf(t *testing.T) {
	entry := func(pod, node string, l rollcallv1.Liveness) gossip.Entry {
		return gossip.Entry{Headline: &rollcallv1.Headline{Pod: pod, Node: node}, Liveness: l}
	}
	alive, dead := rollcallv1.Liveness_LIVENESS_ALIVE, rollcallv1.Liveness_LIVENESS_DEAD
	roster := gossip.Roster{Entries: []gossip.Entry{
		entry("s-0", "s-0.s:8983_solr", alive), entry("s-1", "old", dead), entry("s-2", "", alive),
	}}
	nodes := []engines.Node{
		{Name: "N1", Address: "s-1.s.prod:8983"}, {Name: "N11", Address: "s-11.s.prod:8983"}, {Name: "N2", Address: "s-2"},
		{Name: "A", Address: "s-4.a:1"}, {Name: "B", Address: "s-4.b:1"}, {Name: "V6", Address: "[fd00::1]:1"},
	}
	for name, c := range map[string]struct{ pods, want []string }{
		"any stays any":             {nil, nil},
		"the roster tells":          {[]string{"s-0"}, []string{"s-0.s:8983_solr"}},
		"the dead do not":           {[]string{"s-1"}, []string{"N1"}},
		"by plain address":          {[]string{"s-2"}, []string{"N2"}},
		"never turned into any":     {[]string{"s-9"}, []string{"s-9"}},
		"two nodes of one pod name": {[]string{"s-4"}, []string{"s-4"}},
		"all of them, once":         {[]string{"s-2", "s-0", "s-2"}, []string{"N2", "s-0.s:8983_solr"}},
	} {
		require.Equal(t, c.want, NodesOf(c.pods, roster, nodes), name)
	}
}
