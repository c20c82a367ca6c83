package opensearch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// cluster makes a reading in which every node is "name version roles".
func cluster(nodes ...string) *reading {
	r := &reading{
		state:    &clusterState{id: "s", nodes: map[string]stateNode{}},
		facts:    map[string]nodeFacts{},
		settings: settings{persistent: map[string]string{}, transient: map[string]string{}},
	}
	for _, n := range nodes {
		f := strings.Fields(n)
		r.state.nodes[f[0]] = stateNode{name: f[0], process: "p", address: f[0] + ":9300"}
		facts := nodeFacts{name: f[0], version: f[1]}
		if len(f) > 2 {
			facts.roles = strings.Split(f[2], ",")
		}
		r.facts[f[0]] = facts
		if facts.manages() {
			r.voting.committed = append(r.voting.committed, f[0])
			if r.state.elected == "" {
				r.state.elected = f[0]
			}
		}
	}
	r.voting.accepted = r.voting.committed
	return r
}

// with adds a shard, copies as "p a STARTED", "r - NODE_LEFT delayed", "r - NODE_LEFT c"
// for the node that left.
func (r *reading) with(name string, copies ...string) *reading {
	index, number, _ := strings.Cut(name, "/")
	s := shard{index: index, number: number}
	for _, c := range copies {
		f := strings.Fields(c)
		copy := shardCopy{primary: f[0] == "p", state: copyStateOf(f[2]), node: f[1]}
		if f[1] == "-" {
			copy.node, copy.state, copy.why = "", unassigned, f[2]
			if copy.delayed = strings.HasSuffix(c, " delayed"); len(f) > 3 && !copy.delayed {
				copy.left = f[3]
			}
		} else if len(f) > 3 {
			copy.target = f[3]
		}
		s.copies = append(s.copies, copy)
	}
	r.state.shards = append(r.state.shards, s)
	return r
}

// without: OpenSearch finds no place for the replicas of these shards.
func (r *reading) without(shards ...string) *reading {
	r.placeless = map[string]bool{}
	for _, s := range shards {
		r.placeless[s] = true
	}
	return r
}

func (r *reading) setting(name, value string) *reading {
	r.settings.persistent[name] = value
	return r
}

func TestVerdict(t *testing.T) {
	three := func() *reading { return cluster("a 2.19.4 data", "b 2.19.4 data", "c 2.19.4 data") }
	for name, c := range map[string]struct {
		r    *reading
		h    health
		want string
	}{
		"nothing there":            {three(), health{status: "green"}, "Green"},
		"all there":                {three().with("x/0", "p a STARTED", "r b STARTED"), health{status: "green"}, "Green"},
		"moving":                   {three().with("x/0", "p a RELOCATING c", "r b STARTED"), health{status: "green"}, "Green"},
		"zero replicas":            {three().with("x/0", "p a STARTED"), health{status: "green"}, "Green"},
		"queued, green":            {three().with("x/0", "p a STARTED"), health{status: "green", queued: true}, "Green"},
		"no primary":               {three().with("x/0", "p - NODE_LEFT", "r b STARTED"), health{status: "red"}, "Red no primary serves of x/0"},
		"two without":              {three().with("x/0", "p - NODE_LEFT").with("x/1", "p - NODE_LEFT delayed"), health{status: "red"}, "Red no primary serves of x/0 and 1 more"},
		"primary starts":           {three().with("x/0", "p a INITIALIZING"), health{status: "red"}, "Red no primary serves of x/0"},
		"new index":                {three().with("x/0", "p - INDEX_CREATED"), health{status: "yellow"}, "Yellow being built: a copy of x/0"},
		"new primary":              {three().with("x/0", "p a INITIALIZING"), health{status: "yellow"}, "Yellow being built: a copy of x/0"},
		"only opensearch says red": {three().with("x/0", "p a STARTED"), health{status: "red"}, "Red opensearch says red"},
		"unknown state":            {three().with("x/0", "p a STARTED", "r b ASLEEP"), health{status: "green"}, "Unknown unknown state of a copy of x/0"},
		"being built":              {three().with("x/0", "p a STARTED", "r b INITIALIZING"), health{status: "yellow"}, "Yellow being built: a copy of x/0"},
		"waits for the node": {three().with("x/0", "p a STARTED", "r - NODE_LEFT delayed"), health{status: "yellow"},
			"Recoverable missing until a node is back or updated: a copy of x/0"},
		"waits, and tasks are queued": {three().with("x/0", "p a STARTED", "r - NODE_LEFT delayed"), health{status: "yellow", queued: true},
			"Yellow changes of the cluster are queued; missing until a node is back or updated: a copy of x/0"},
		"waits, and nodes are asked what they have": {three().with("x/0", "p a STARTED", "r - NODE_LEFT delayed"), health{status: "yellow", fetching: 1},
			"Yellow changes of the cluster are queued; missing until a node is back or updated: a copy of x/0"},
		"waited long enough": {three().with("x/0", "p a STARTED", "r - NODE_LEFT"), health{status: "yellow"},
			"Yellow nodes could take them, missing: a copy of x/0"},
		"held back": {three().with("x/0", "p a STARTED", "r - NODE_LEFT").setting(settingAllocation, "primaries"), health{status: "yellow"},
			"Recoverable missing until a node is back or updated: a copy of x/0"},
		"not held back": {three().with("x/0", "p a STARTED", "r - NODE_LEFT").setting(settingAllocation, "ALL"), health{status: "yellow"},
			"Yellow nodes could take them, missing: a copy of x/0"},
		"no place but the node's": {three().with("x/0", "p a STARTED", "r b STARTED", "r c STARTED", "r - NODE_LEFT"), health{status: "yellow"},
			"Recoverable missing until a node is back or updated: a copy of x/0"},
		"back beside a copy that nobody had": {three().with("x/0", "p a STARTED", "r b STARTED", "r c STARTED", "r - NODE_LEFT c"), health{status: "yellow"},
			"Green more copies are configured than there are nodes for, of x/0"},
		"another one is unavailable": {three().with("x/0", "p a STARTED", "r b STARTED", "r c STARTED", "r - NODE_LEFT d"), health{status: "yellow"},
			"Recoverable missing until a node is back or updated: a copy of x/0"},
		"back, and without its copy": {three().with("x/0", "p a STARTED", "r b STARTED", "r - NODE_LEFT c"), health{status: "yellow"},
			"Yellow nodes could take them, missing: a copy of x/0"},
		"the only place is excluded": {three().with("x/0", "p a STARTED", "r b STARTED", "r - NODE_LEFT").setting(settingExclude, "c"), health{status: "yellow"},
			"Recoverable missing until a node is back or updated: a copy of x/0"},
		"failed": {three().with("x/0", "p a STARTED", "r - ALLOCATION_FAILED"), health{status: "yellow"},
			"Yellow allocation failed of a copy of x/0"},
		"failed too often": {three().with("x/0", "p a STARTED", "r - ALLOCATION_FAILED").without("x/0"), health{status: "yellow"},
			"Recoverable opensearch finds no node that may take it, missing: a copy of x/0"},
		"filtered": {three().with("x/0", "p a STARTED", "r - INDEX_CREATED").without("x/0"), health{status: "yellow"},
			"Recoverable opensearch finds no node that may take it, missing: a copy of x/0"},
		"filtered, and another could be taken": {three().with("x/0", "p a STARTED", "r - INDEX_CREATED").with("x/1", "p a STARTED", "r - INDEX_CREATED").without("x/0"), health{status: "yellow"},
			"Yellow nodes could take them, missing: a copy of x/1"},
		"filtered, and tasks are queued": {three().with("x/0", "p a STARTED", "r - INDEX_CREATED").without("x/0"), health{status: "yellow", queued: true},
			"Yellow changes of the cluster are queued; opensearch finds no node that may take it, missing: a copy of x/0"},
		"filtered, and one is built": {three().with("x/0", "p a STARTED", "r - INDEX_CREATED").with("x/1", "p a STARTED", "r b INITIALIZING").without("x/0"), health{status: "yellow"},
			"Yellow being built: a copy of x/1"},
		"one waits while another moves": {three().with("x/0", "p a STARTED", "r - NODE_LEFT delayed").with("x/1", "p a RELOCATING c", "r b STARTED"), health{status: "yellow"},
			"Yellow being moved: a copy of x/1; missing until a node is back or updated: a copy of x/0"},
		"one has no place while another moves": {three().with("x/0", "p a STARTED", "r - INDEX_CREATED").with("x/1", "p a RELOCATING c", "r b STARTED").without("x/0"), health{status: "yellow"},
			"Yellow being moved: a copy of x/1; opensearch finds no node that may take it, missing: a copy of x/0"},
		"a primary has no place": {three().with("x/0", "p - NODE_LEFT").without("x/0"), health{status: "red"}, "Red no primary serves of x/0"},
		"primary on a newer version": {cluster("a 3.0.0 data", "b 2.19.4 data", "c 2.19.4 data").with("x/0", "p a STARTED", "r - INDEX_CREATED"), health{status: "yellow"},
			"Recoverable missing until a node is back or updated: a copy of x/0"},
		"one other is as new": {cluster("a 3.0.0 data", "b 3.0.0 data", "c 2.19.4 data").with("x/0", "p a STARTED", "r - INDEX_CREATED"), health{status: "yellow"},
			"Yellow nodes could take them, missing: a copy of x/0"},
		"managers take no copies": {cluster("a 2.19.4 data", "m 2.19.4 cluster_manager").with("x/0", "p a STARTED", "r - NODE_LEFT"), health{status: "yellow"},
			"Recoverable missing until a node is back or updated: a copy of x/0"},
		"single node": {cluster("a 2.19.4 data,cluster_manager").with("x/0", "p a STARTED", "r - CLUSTER_RECOVERED"), health{status: "yellow"},
			"Green more copies are configured than there are nodes for, of x/0"},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.r.verdict(c.h)
			require.Equal(t, c.want, strings.TrimSpace(fmt.Sprint(got.Verdict, " ", got.Reason)))
		})
	}
}

// An unknown node might take the copy.
func TestVerdictUnknownNode(t *testing.T) {
	r := cluster("a 3.0.0 data", "b 2.19.4 data").with("x/0", "p a STARTED", "r - INDEX_CREATED")
	delete(r.facts, "b")
	require.Equal(t, engines.VerdictYellow, r.verdict(health{status: "yellow"}).Verdict)
}
