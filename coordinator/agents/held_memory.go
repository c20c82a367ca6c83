package agents

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/agents/wire"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// ledger counts the memory that one cluster's messages take, in bytes. What several reports or
// rosters share counts once, and as long as one of them is held.
type ledger struct {
	refs  map[any]int
	bytes int
}

// mayHold reports whether a cluster may hold more although the limit MaxHeld of all clusters is
// exceeded: only if it holds less than its share. Namespaces have equal shares, and within each its
// clusters have. So neither a cluster that holds much nor a namespace with many clusters takes
// reports from others. The excess goes to clusters that hold less than an equal share, and all
// together hold twice the limit at most.
func (a *Agents) mayHold(c *cluster) bool {
	if a.held <= a.opts.MaxHeld {
		return true
	}
	of := map[string]int{}
	for key := range a.clusters {
		of[key.Namespace]++
	}
	share := func(c *cluster) int { return a.opts.MaxHeld / len(of) / of[c.key.Namespace] }
	if c.ledger.bytes <= share(c) {
		return true
	}
	owed := 0
	for _, other := range a.clusters {
		owed += max(0, share(other)-other.ledger.bytes)
	}
	return c.ledger.bytes <= a.opts.MaxHeld/len(a.clusters) && a.held+owed <= 2*a.opts.MaxHeld
}

// replace holds a message in place of another one. Either may be nil. If it is too much, it refuses
// it, and neither is held. mu is held.
func (a *Agents) replace(c *cluster, former, next any) *wire.Refusal {
	a.count(c, next, 1)
	a.count(c, former, -1)
	if a.mayHold(c) {
		return nil
	}
	held := c.ledger.bytes
	a.count(c, next, -1)
	c.nodes, c.entries = nil, nil // they may belong to it
	return &wire.Refusal{Reason: reasonMemory, Text: fmt.Sprintf("with it what the agents of this database say would take %d bytes of memory, "+
		"which is more than its share of that of its namespace, and all databases together take what there is, %d", held, a.opts.MaxHeld)}
}

// drop removes an agent that is not followed any more. mu is held.
func (a *Agents) drop(g *agent) {
	a.release(g.cluster, g.received.Report)
	a.release(g.cluster, g.roster.Roster)
	g.received, g.roster = Received{}, ReceivedRoster{}
}

// release removes a message that is not held any more. mu is held.
func (a *Agents) release(c *cluster, message any) { a.count(c, message, -1) }

func (a *Agents) count(c *cluster, message any, by int) {
	if a.clusters[c.key] != c {
		return // it is forgotten, with everything that it held
	}
	before := c.ledger.bytes
	items(message, func(item any, bytes int) {
		was := c.ledger.refs[item]
		switch is := was + by; {
		case is > 0:
			if c.ledger.refs[item] = is; was == 0 {
				c.ledger.bytes += bytes
			}
		case was > 0:
			delete(c.ledger.refs, item)
			c.ledger.bytes -= bytes
			c.unshare(item)
		}
	})
	a.held += c.ledger.bytes - before
}

// items calls f with the parts of a message that it may share with others, and the memory of each:
// the size of the structure, and what the ledger and the tables of shared parts need for it.
func items(message any, f func(item any, bytes int)) {
	switch m := message.(type) {
	case *rollcallv1.Report:
		if m == nil {
			return
		}
		bytes := 1<<10 + 8*(len(m.GetGroups())+len(m.GetNodes())) + words(m.GetRoles()) + words(m.GetAfter()) + words([]string{
			m.GetError(), m.GetEngineVersion(), m.GetBusy(), m.GetVeto(), m.GetDrainClaim(), m.GetDrainDetail(), m.GetVerdictReason(), m.GetRepairing(), m.GetNode(), m.GetEngine(),
		})
		for _, r := range m.GetRefusals() {
			bytes += 320 + len(r.GetPod()) + len(r.GetWhat()) + len(r.GetFrom())
		}
		f(m, bytes+identity(m.GetIdentity()))
		for _, g := range m.GetGroups() {
			bytes := 256 + len(g.GetId())
			for _, copy := range g.GetMembers() {
				bytes += 152 + len(copy.GetId()) + len(copy.GetNode()) + len(copy.GetDomain())
			}
			f(g, bytes)
		}
		for _, n := range m.GetNodes() {
			f(n, 256+len(n.GetName())+len(n.GetAddress()))
		}
	case *rollcallv1.Roster:
		if m == nil {
			return
		}
		f(m, 256+8*len(m.GetEntries())+identity(m.GetIdentity()))
		for _, e := range m.GetEntries() {
			h := e.GetHeadline()
			f(e, 512+words(h.GetRoles())+len(h.GetPod())+len(h.GetPodUid())+len(h.GetAddress())+len(h.GetNode())+len(h.GetZone()))
		}
	}
}

func identity(i *rollcallv1.Identity) int {
	return words([]string{i.GetNamespace(), i.GetCluster(), i.GetClusterUid(), i.GetPod(), i.GetPodUid(), i.GetNode(), i.GetZone(), i.GetAgentVersion()})
}

func words(list []string) int {
	bytes := 16 * len(list)
	for _, s := range list {
		bytes += len(s)
	}
	return bytes
}
