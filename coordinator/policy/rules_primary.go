package policy

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// These rules are about a primary that takes all writes, and what it does before its pod goes.

// topologyUnknown holds a primary as long as it is not known how the members share its role, or the
// agents do not see yet what the spec says.
func (d *decision) topologyUnknown(c *candidate) *finding {
	if !d.isPrimary(c) {
		return nil
	}
	asked := d.x.Spec.Update.Primary
	switch topology := d.x.Snapshot.Cluster.Topology; {
	case topology == model.TopologyUnknown:
		why := cmp.Or(d.x.Snapshot.Cluster.TopologyWhy, "no agent tells it")
		return found("it is the primary, and the topology is not known: "+why, "agents that agree on the topology")
	case topology == model.TopologyFixedPrimary && asked == model.PrimarySwitchover,
		topology == model.TopologySwitchable && asked == model.PrimaryRestartInPlace:
		return found(fmt.Sprintf("it is the primary, update.primary is %s, and the agents still say %s", asked, topology),
			"the agents reading the change, within two minutes; or update.primary as it was")
	}
	return nil
}

func (d *decision) primaryHeld(c *candidate) *finding {
	if d.x.Spec.Update.Primary != model.PrimaryHold || !d.isPrimary(c) {
		return nil
	}
	return found("it is the primary, and update.primary is Hold",
		"update.primary: Switchover or RestartInPlace; or the role moved to another pod by hand")
}

// isPrimary reports whether the candidate alone takes the writes, so that it matters what it does
// before it goes. In an outage, or when its pool ends at none, nobody takes any.
func (d *decision) isPrimary(c *candidate) bool {
	switch d.x.Snapshot.Cluster.Topology {
	case "", model.TopologyGalera:
		return false
	}
	return !d.x.Outage() && !c.OwnPool.Shutdown && slices.ContainsFunc(d.x.Snapshot.Groups, func(g model.Group) bool {
		return g.Kind == model.GroupRole && g.NeedsLeader && slices.ContainsFunc(g.Members, func(m model.Member) bool { return m.Leader && m.Pod == c.Name })
	})
}

// inPlaceNote says of a primary that restarts in place that nobody writes meanwhile.
func (d *decision) inPlaceNote(c *candidate) string {
	adopted := d.x.InPlace && !c.Agent && c.Last
	if !adopted && (!inPlace(d.x.Snapshot.Cluster.Topology) || !d.isPrimary(c)) {
		return ""
	}
	return fmt.Sprintf("%snobody writes until it is back, in about %s", InPlaceNote, seconds(time.Duration(estimateOf(c.Pod)*float64(time.Second))))
}

// inPlace reports whether a primary keeps its role in this topology.
func inPlace(t model.Topology) bool {
	return t == model.TopologyFixedPrimary || t == model.TopologySingleServer
}

// thenInPlace announces that in the reason of a hold.
func (d *decision) thenInPlace(c *candidate) string {
	if note := d.inPlaceNote(c); note != "" {
		return "; then it " + note
	}
	return ""
}

// InPlaceNote begins the note of a step that takes a primary which keeps its role.
const InPlaceNote = "restarts in place: "

// RestartsInPlace returns the note of the primary that is in the order and restarts in place, with
// its pod; empty means that none does.
func RestartsInPlace(s model.Snapshot) (pod, note string) {
	if !inPlace(s.Cluster.Topology) && !s.Cluster.AdoptsInPlace() {
		return "", ""
	}
	d := newDecision(&s, "", false)
	for i := range d.order {
		if note := d.inPlaceNote(&d.order[i]); note != "" {
			return d.order[i].Name, note
		}
	}
	return "", ""
}
