package policy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// outcome is what would be left of a group if a candidate went, together with
// all that is away, claimed or chosen already.
type outcome struct {
	group     *group
	own       *hosting // the candidate's members
	share     int32    // what it has of what the group counts: members, or domains
	available int32
	eligible  int32
}

// whatIf answers for one group of a candidate. The second value is false when
// the group does not hold the candidate back: it is known not to be live, or is live
// and settled, and all of its members of the group are down.
func (d *decision) whatIf(c *candidate, h *hosting) (outcome, bool) {
	g := &d.x.groups[h.group]
	o := outcome{group: g, own: h, share: g.units(c.at, h), available: g.available, eligible: g.eligible}
	// Of a pod that is not live for a moment, or has just come back, the database says that
	// its members are down, and has them back soon.
	isDown := h.notDown == 0 && c.live && c.report != nil && c.report.Settled
	if !c.mayLive || isDown || c.pool.shutdown || d.x.outage() {
		return o, false
	}
	if c.counted { // else its members are not among the available
		o.available -= g.loss(c.at, h)
		o.eligible -= h.eligible
	}
	return o, true
}

// take removes a chosen pod's members from what is available.
func (x *index) take(p *pod) {
	x.onDuty[p.at] = false
	if !p.counted {
		return
	}
	for i := range p.hosts {
		h := &p.hosts[i]
		x.groups[h.group].lose(p.at, h)
	}
}

// othersMissing is how many members elsewhere than on the candidate are not
// available, or domains that it has no part in.
func (o outcome) othersMissing() int32 { return o.group.total - o.share - o.available }

func (d *decision) beingMoved(c *candidate) *finding {
	if !c.moving {
		return nil
	}
	for i := range c.hosts {
		if g := &d.x.groups[c.hosts[i].group]; g.Moving {
			return found(fmt.Sprintf("copies of %s are being moved", g.ID), "the move of "+g.ID+" ending").of(g.ID)
		}
	}
	return nil
}

// kindBudget asks that enough of each group of a kind is left.
func kindBudget(kind model.GroupKind) func(*decision, *candidate) *finding {
	bit := kindBit(kind)
	return func(d *decision, c *candidate) *finding {
		if c.kinds&bit == 0 {
			return nil
		}
		for i := range c.hosts {
			if d.x.groups[c.hosts[i].group].kind != bit {
				continue
			}
			if o, asked := d.whatIf(c, &c.hosts[i]); asked {
				if f := d.enough(c, o); f != nil {
					return f
				}
			}
		}
		return nil
	}
}

func (d *decision) enough(c *candidate, o outcome) *finding {
	g := o.group
	if g.unprotectable(o.share) {
		return d.unprotected(c, o)
	}
	if o.available >= g.least {
		return nil
	}
	return found(g.ID+" would have "+strconv.Itoa(int(o.available))+" of "+strconv.Itoa(int(g.total))+" "+g.noun()+", needs "+strconv.Itoa(int(g.least)),
		d.whoIsMissing(c, g)).of(g.ID)
}

// unprotected: no order of restarts could keep enough of this group, so the
// candidate goes while all else of the group is there, or never.
func (d *decision) unprotected(c *candidate, o outcome) *finding {
	g := o.group
	switch {
	case d.x.spec.Policy.Unprotected == model.HoldAlways:
		return found(fmt.Sprintf("%s can never be protected: it has %s on this pod%s, and policy.unprotected is Hold",
			g.ID, o.words(), needs(g.least)), "more copies of "+g.ID+", or policy.unprotected: Allow").of(g.ID)
	case o.othersMissing() > 0:
		return found(fmt.Sprintf("%s can never be protected, and %d of its %d other %s are missing already",
			g.ID, o.othersMissing(), g.total-o.share, g.noun()), d.whoIsMissing(c, g)).of(g.ID)
	}
	return nil
}

// unprotectedNotes name the groups that a step takes without protection.
func (d *decision) unprotectedNotes(c *candidate) []string {
	var notes []string
	for i := range c.hosts {
		o, asked := d.whatIf(c, &c.hosts[i])
		switch {
		case !asked:
		case o.group.unprotectable(o.share):
			notes = append(notes, fmt.Sprintf("unprotected: %s has %s on this pod%s", o.group.ID, o.words(), o.meanwhile(c)))
		case o.group.NeedsLeader && o.eligible <= 0 && d.ledOnlyFrom(c.pod, o.group):
			notes = append(notes, fmt.Sprintf("unprotected: %s has no member elsewhere that may lead: nobody leads it meanwhile", o.group.ID))
		}
	}
	return notes
}

// words say what the candidate has of the group.
func (o outcome) words() string {
	noun := o.group.noun()
	switch {
	case o.group.total == 1:
		return "its only " + strings.TrimSuffix(noun, "s")
	case o.share == o.group.total:
		return fmt.Sprintf("all of its %d %s", o.group.total, noun)
	}
	return fmt.Sprintf("%d of its %d %s", o.share, o.group.total, noun)
}

// meanwhile says what it means that the candidate goes, where that is certain:
// votes may have been handed over by then.
func (o outcome) meanwhile(c *candidate) string {
	switch {
	case o.share < o.group.total:
		return ""
	case o.group.Kind == model.Shard && c.prepare == model.PrepareEvacuate:
		return ": moved away first"
	case o.group.Kind == model.Shard, o.group.Kind == model.Role:
		return ": nobody serves it meanwhile"
	}
	return ""
}

func needs(least int32) string {
	if least <= 0 {
		return ""
	}
	return fmt.Sprintf(", needs %d", least)
}

// whoIsMissing names the first pod whose return would help the group.
func (d *decision) whoIsMissing(c *candidate, g *group) string {
	best := int32(-1)
	outside := ""
	var gone *model.Member // on a pod that was scaled away
	for j := range g.Members {
		m := &g.Members[j]
		at := d.x.placeOf(g, j)
		switch {
		case at == c.at:
		case at == nowhere:
			if gone == nil || m.ID < gone.ID {
				gone = m
			}
		case at >= 0:
			if missing := !isAvailable(m.State) || !d.x.onDuty[at]; missing && (best < 0 || at < best) {
				best = at
			}
		case !isAvailable(m.State):
			if outside == "" || m.ID < outside {
				outside = m.ID
			}
		}
	}
	switch {
	case best >= 0 && d.x.pods[best].serves && d.x.guards:
		return "the guard of " + d.x.pods[best].Name + " closed, or the pod restarted and caught up"
	case best >= 0:
		return orAdvice(d.x.pods[best].Name+" back and caught up", &d.x.pods[best])
	case gone != nil:
		return fmt.Sprintf("%s, which is not there any more, scaled out again; or its member %s of %s taken out of the database", gone.Pod, gone.ID, g.ID)
	case outside != "":
		return "member " + outside + " of " + g.ID + " back and caught up, or taken out of it where it is gone for good"
	}
	return "more copies of " + g.ID
}

// soleCopy asks that an Active copy is left of every group that can be
// protected, and where the pod's data does not survive, of every group.
func (d *decision) soleCopy(c *candidate) *finding {
	if c.pool.shutdown {
		return nil
	}
	if c.lost && d.x.noAgents {
		return found("its data does not survive, and nobody can say which other copies there are", "an agent that can")
	}
	if c.action == model.Replace && d.x.dead {
		return found("its volume would be given up, and no pod is live that could say which other copies there are", "a pod live in the database")
	}
	for i := range c.hosts {
		h := &c.hosts[i]
		o, asked := d.whatIf(c, h)
		if c.lost && o.group.Kind != model.Role && (c.reason != model.ReasonNeverStarted || c.leaves) {
			if f := d.lastCopy(c, o); f != nil {
				return f
			}
		}
		if asked && o.available <= 0 && !o.group.unprotectable(o.share) {
			return found(fmt.Sprintf("%s would have no Active copy of %d", o.group.ID, o.group.total),
				d.whoIsMissing(c, o.group)).of(o.group.ID)
		}
	}
	return nil
}

// lastCopy: a member that is down is still a copy where a restart loses it; a
// role is served and not stored, so it is not asked about. What will be moved
// off first is asked about again once it has been; in an outage there is
// nowhere to move it.
func (d *decision) lastCopy(c *candidate, o outcome) *finding {
	others := o.group.available
	if c.counted {
		others -= o.group.loss(c.at, o.own)
	}
	moves := c.prepare == model.PrepareEvacuate && c.live && !d.prepared && !d.x.outage()
	least := int32(1)
	if o.group.Kind == model.Quorum && int(o.own.total) < len(o.group.Members) {
		least = o.group.least
	}
	if others >= least || moves {
		return nil
	}
	if others > 0 {
		return found(fmt.Sprintf("%s has %s elsewhere, needs %d, and the data on this pod does not survive", o.group.ID, counted(int(others), "Active member", "Active members"), least),
			d.whoIsMissing(c, o.group)).of(o.group.ID)
	}
	return found(fmt.Sprintf("%s has no Active copy elsewhere, and the data on this pod does not survive", o.group.ID),
		d.whoIsMissing(c, o.group)).of(o.group.ID)
}

// catchingUp: restarting a member that recovers, while others of its group are
// missing, would undo the group's next hope. One of which nothing is known may
// be recovering. One that has recovered in vain is no hope: two of them would wait for each other.
func (d *decision) catchingUp(c *candidate) *finding {
	if !c.recovering {
		return nil
	}
	inVain := d.curing && (d.prepared || d.noProgress())
	for i := range c.hosts {
		h := &c.hosts[i]
		if h.maybe == 0 && (h.recovering == 0 || inVain) {
			continue
		}
		if o, asked := d.whatIf(c, h); asked && o.othersMissing() > 0 {
			state := "is recovering"
			if h.recovering == 0 {
				state = "may be recovering"
			}
			return found(fmt.Sprintf("its member of %s %s, and %d of %d others are missing",
				o.group.ID, state, o.othersMissing(), o.group.total-o.share), "its recovery ending").of(o.group.ID)
		}
	}
	return nil
}
