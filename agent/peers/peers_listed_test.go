package peers

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/agent/gossip"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// rosterOf is a Mesh that knows what a test says.
type rosterOf struct {
	Mesh
	entries []gossip.Entry
}

func (m *rosterOf) Roster() (gossip.Roster, <-chan struct{}) {
	return gossip.Roster{Entries: m.entries, Synced: true}, nil
}

func entry(pod, uid, node, address string, alive bool) gossip.Entry {
	e := gossip.Entry{
		Headline: &rollcallv1.Headline{Pod: pod, PodUid: uid, Node: node, Address: address}, Liveness: rollcallv1.Liveness_LIVENESS_DEAD,
	}
	if alive {
		e.Liveness = rollcallv1.Liveness_LIVENESS_ALIVE
	}
	return e
}

func TestWhoIsListed(t *testing.T) {
	mesh := &rosterOf{}
	keeper := NewKeeper(0, nil)
	keeper.mesh = mesh
	p := New(Options{Pod: "p0", Mesh: keeper, Fence: &fence.Fence{}, Credentials: insecure.NewCredentials()})
	names := func() (out []string) {
		for _, k := range p.List() {
			text := k.Pod + "=" + k.Node
			if !k.Alive {
				text += "!"
			}
			if k.Leaving {
				text += "?"
			}
			out = append(out, text)
		}
		return out
	}
	mesh.entries = []gossip.Entry{entry("p0", "0", "n0", "127.0.0.1:1", true), entry("p1", "1", "n1", "127.0.0.1:1", true), entry("p2", "2", "n2", "127.0.0.1:2", false)}
	require.Equal(t, []string{"p1=n1", "p2=n2!"}, names())
	_, err := p.link("n1")
	require.NoError(t, err)
	first := p.links["1"]
	_, err = p.link("n1")
	require.NoError(t, err)
	require.Same(t, first, p.links["1"], "one connection")

	// Its agent has restarted, elsewhere, and its database does not answer.
	mesh.entries[1] = entry("p1", "1", "", "127.0.0.1:3", true)
	require.Equal(t, []string{"p1=n1", "p2=n2!"}, names())
	require.Empty(t, p.links)
	_, err = p.link("n1")
	require.NoError(t, err)
	require.NotSame(t, first, p.links["1"])

	// One that is gone stays listed, and no connection is kept to it.
	mesh.entries[1] = entry("p1", "1", "n1", "127.0.0.1:3", false)
	require.Equal(t, []string{"p1=n1!", "p2=n2!"}, names())
	require.Empty(t, p.links)
	mesh.entries[1] = entry("p1", "1", "n1", "127.0.0.1:3", true)

	// Two lives of one pod: the one that is alive counts.
	mesh.entries = append(mesh.entries, entry("p2", "2b", "n2", "127.0.0.1:4", true))
	require.Equal(t, []string{"p1=n1", "p2=n2"}, names())
	for _, c := range []struct {
		change func(h *rollcallv1.Headline)
		want   string
	}{
		{func(h *rollcallv1.Headline) { h.Phase = rollcallv1.Phase_PHASE_STOPPING }, "p1=n1?"},
		{func(h *rollcallv1.Headline) { h.Drain = rollcallv1.Drain_DRAIN_DRAINING }, "p1=n1?"},
		{func(h *rollcallv1.Headline) { h.Drain = rollcallv1.Drain_DRAIN_DRAINED }, "p1=n1?"},
		{func(h *rollcallv1.Headline) { h.Drain = rollcallv1.Drain_DRAIN_REFUSED }, "p1=n1"},
	} {
		mesh.entries[1] = entry("p1", "1", "n1", "127.0.0.1:3", true)
		c.change(mesh.entries[1].Headline)
		require.Equal(t, c.want, names()[0])
	}

	for what, e := range map[string]gossip.Entry{
		"both p3 and p4 say":     entry("p4", "4", "n3", "127.0.0.1:4", true),
		"does not tell where":    entry("p4", "4", "n4", "", true),
		"no agent that is alive": entry("p4", "4", "n5", "127.0.0.1:4", false),
	} {
		mesh.entries = []gossip.Entry{entry("p3", "3", "n3", "127.0.0.1:3", true), e}
		_, err := p.link(e.Headline.Node)
		require.ErrorContains(t, err, what)
	}
	// The database of a pod that was made again has not answered yet: its agent is known by the
	// pod.
	mesh.entries = []gossip.Entry{entry("p3", "3b", "", "127.0.0.1:3", true), entry("p4", "4", "", "127.0.0.1:4", false)}
	link, err := p.link("p3")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:3", link.address)
	_, err = p.link("p4")
	require.ErrorContains(t, err, "no agent that is alive")
	mesh.entries[0].Headline.Node = "n3"
	_, err = p.link("p3")
	require.ErrorContains(t, err, "no agent that is alive", "as soon as its node is known, only by that")

	mesh.entries = nil
	require.Empty(t, names())
	require.Empty(t, p.nodes, "nobody is remembered for ever")

	p.Close()
	mesh.entries = []gossip.Entry{entry("p1", "1", "n1", "127.0.0.1:1", true)}
	_, err = p.link("n1")
	require.ErrorContains(t, err, "stopping")
}
