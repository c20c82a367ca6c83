package policy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// outcome is what would be left of a group if a candidate went, together with everything that is
// unavailable, claimed or chosen already.
type outcome struct {
	group     *cluster.Group
	own       *cluster.Hosting // the candidate's members
	share     int32            // what it has of what the group counts: members, or domains
	available int32
	eligible  int32
}

// whatIf returns the outcome for one group of a candidate. The second value is false if the group
// does not hold the candidate back: the candidate is known not to be live, or it is live and
// settled, and all of its members of the group are down.
func (d *decision) whatIf(c *candidate, h *cluster.Hosting) (outcome, bool) {
	g := &d.x.Groups[h.Group]
	o := outcome{group: g, own: h, share: g.Units(c.At, h), available: g.Available, eligible: g.Eligible}
	// While a pod is not live for a moment, or has just come back, the database says that its
	// members are down, and has them back soon.
	isDown := h.NotDown == 0 && c.Live && c.OwnReport != nil && c.OwnReport.Settled
	if !c.MayLive || isDown || c.OwnPool.Shutdown || d.x.Outage() {
		return o, false
	}
	if c.Counted { // otherwise its members are not among the available ones
		o.available -= g.Loss(c.At, h)
		o.eligible -= h.Eligible
	}
	return o, true
}

// othersMissing returns how many members outside the candidate are not available, or domains of
// which it has no part.
func (o outcome) othersMissing() int32 { return o.group.Total - o.share - o.available }

func (d *decision) beingMoved(c *candidate) *finding {
	if !c.Moving {
		return nil
	}
	for i := range c.Hosts {
		if g := &d.x.Groups[c.Hosts[i].Group]; g.Moving {
			return found(fmt.Sprintf("copies of %s are being moved", g.ID), "the move of "+g.ID+" ending").of(g.ID)
		}
	}
	return nil
}

// kindBudget requires that enough of each group of a kind is left.
func kindBudget(kind model.GroupKind) func(*decision, *candidate) *finding {
	bit := cluster.KindBit(kind)
	return func(d *decision, c *candidate) *finding {
		if c.Kinds&bit == 0 {
			return nil
		}
		for i := range c.Hosts {
			if d.x.Groups[c.Hosts[i].Group].KindBit != bit {
				continue
			}
			if o, asked := d.whatIf(c, &c.Hosts[i]); asked {
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
	if g.Unprotectable(o.share) {
		return d.unprotected(c, o)
	}
	if o.available >= g.Least {
		return nil
	}
	return found(g.ID+" would have "+strconv.Itoa(int(o.available))+" of "+strconv.Itoa(int(g.Total))+" "+g.Noun()+", needs "+strconv.Itoa(int(g.Least)),
		d.missingPods(c, g)).of(g.ID)
}

// unprotected is for a group of which no order of restarts could keep enough: the candidate goes
// while everything else of the group is available, or never.
func (d *decision) unprotected(c *candidate, o outcome) *finding {
	g := o.group
	switch {
	case d.x.Spec.Policy.Unprotected == model.PermissionHold:
		return found(fmt.Sprintf("%s can never be protected: it has %s on this pod%s, and policy.unprotected is Hold",
			g.ID, o.words(), needs(g.Least)), "more copies of "+g.ID+", or policy.unprotected: Allow").of(g.ID)
	case o.othersMissing() > 0:
		return found(fmt.Sprintf("%s can never be protected, and %d of its %d other %s are missing already",
			g.ID, o.othersMissing(), g.Total-o.share, g.Noun()), d.missingPods(c, g)).of(g.ID)
	}
	return nil
}

// unprotectedNotes names the groups that a step takes without protection.
func (d *decision) unprotectedNotes(c *candidate) []string {
	var notes []string
	for i := range c.Hosts {
		o, asked := d.whatIf(c, &c.Hosts[i])
		switch {
		case !asked:
		case o.group.Unprotectable(o.share):
			notes = append(notes, fmt.Sprintf("unprotected: %s has %s on this pod%s", o.group.ID, o.words(), o.meanwhile(c)))
		case o.group.NeedsLeader && o.eligible <= 0 && d.ledOnlyFrom(c.Pod, o.group):
			notes = append(notes, fmt.Sprintf("unprotected: %s has no member elsewhere that may lead: nobody leads it meanwhile", o.group.ID))
		}
	}
	return notes
}

// words says what the candidate has of the group.
func (o outcome) words() string {
	noun := o.group.Noun()
	switch {
	case o.group.Total == 1:
		return "its only " + strings.TrimSuffix(noun, "s")
	case o.share == o.group.Total:
		return fmt.Sprintf("all of its %d %s", o.group.Total, noun)
	}
	return fmt.Sprintf("%d of its %d %s", o.share, o.group.Total, noun)
}

// meanwhile says what happens to the group when the candidate goes, if that is certain: votes may
// have been handed over before.
func (o outcome) meanwhile(c *candidate) string {
	switch {
	case o.share < o.group.Total:
		return ""
	case o.group.Kind == model.GroupShard && c.prepare == model.PrepareEvacuate:
		return ": moved away first"
	case o.group.Kind == model.GroupShard, o.group.Kind == model.GroupRole:
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

// missingPods returns the first pod whose return would help the group.
func (d *decision) missingPods(c *candidate, g *cluster.Group) string {
	best := int32(-1)
	outside := ""
	var gone *model.Member // on a pod that was scaled down
	for j := range g.Members {
		m := &g.Members[j]
		at := d.x.PlaceOf(g, j)
		switch {
		case at == c.At:
		case at == cluster.Nowhere:
			if gone == nil || m.ID < gone.ID {
				gone = m
			}
		case at >= 0:
			if missing := !cluster.IsAvailable(m.State) || !d.x.OnDuty[at]; missing && (best < 0 || at < best) {
				best = at
			}
		case !cluster.IsAvailable(m.State):
			if outside == "" || m.ID < outside {
				outside = m.ID
			}
		}
	}
	switch {
	case best >= 0 && d.x.Pods[best].Serves && d.x.Guards:
		return "the guard of " + d.x.Pods[best].Name + " closed, or the pod restarted and caught up"
	case best >= 0:
		return cluster.OrAdvice(d.x.Pods[best].Name+" back and caught up", &d.x.Pods[best])
	case gone != nil:
		return fmt.Sprintf("%s, which is not there any more, scaled out again; or its member %s of %s taken out of the database", gone.Pod, gone.ID, g.ID)
	case outside != "":
		return "member " + outside + " of " + g.ID + " back and caught up, or taken out of it where it is gone for good"
	}
	return "more copies of " + g.ID
}

// soleCopy requires that an Active copy is left of every group that can be protected and, if the
// pod's data does not survive, of every group.
func (d *decision) soleCopy(c *candidate) *finding {
	if c.OwnPool.Shutdown {
		return nil
	}
	if c.lost && (d.x.NoAgents || d.x.StandsIn) {
		return found("its data does not survive, and nobody can say which other copies there are", "an agent that can")
	}
	if c.action == model.ActionReplace && d.x.Dead {
		return found("its volume would be given up, and no pod is live that could say which other copies there are", "a pod live in the database")
	}
	for i := range c.Hosts {
		h := &c.Hosts[i]
		o, asked := d.whatIf(c, h)
		if c.lost && o.group.Kind != model.GroupRole && (c.reason != model.ReasonNeverStarted || c.leaves) {
			if f := d.lastCopy(c, o); f != nil {
				return f
			}
		}
		if asked && o.available <= 0 && !o.group.Unprotectable(o.share) {
			return found(fmt.Sprintf("%s would have no Active copy of %d", o.group.ID, o.group.Total),
				d.missingPods(c, o.group)).of(o.group.ID)
		}
	}
	return nil
}

// lastCopy reports the loss of a last copy. A member that is down is still a copy if a restart
// loses it. A role is served and not stored, so it does not count. What will first be moved off the
// pod is checked again once it has been; in an outage it cannot be moved anywhere.
func (d *decision) lastCopy(c *candidate, o outcome) *finding {
	others := o.group.Available
	if c.Counted {
		others -= o.group.Loss(c.At, o.own)
	}
	moves := c.prepare == model.PrepareEvacuate && c.Live && !d.drained && !d.x.Outage()
	least := int32(1)
	if o.group.Kind == model.GroupQuorum && int(o.own.Total) < len(o.group.Members) {
		least = o.group.Least
	}
	if others >= least || moves {
		return nil
	}
	if others > 0 {
		return found(fmt.Sprintf("%s has %s elsewhere, needs %d, and the data on this pod does not survive", o.group.ID, counted(int(others), "Active member", "Active members"), least),
			d.missingPods(c, o.group)).of(o.group.ID)
	}
	return found(fmt.Sprintf("%s has no Active copy elsewhere, and the data on this pod does not survive", o.group.ID),
		d.missingPods(c, o.group)).of(o.group.ID)
}

// catchingUp holds a recovering member while others of its group are missing, because a restart
// would undo the progress on which the group depends. A member of unknown state may be recovering.
// A member that has recovered in vain does not count: two of them would wait for each other.
func (d *decision) catchingUp(c *candidate) *finding {
	if !c.Recovering {
		return nil
	}
	inVain := d.curing && (d.drained || d.noProgress())
	for i := range c.Hosts {
		h := &c.Hosts[i]
		if h.Maybe == 0 && (h.Recovering == 0 || inVain) {
			continue
		}
		if o, asked := d.whatIf(c, h); asked && o.othersMissing() > 0 {
			state := "is recovering"
			if h.Recovering == 0 {
				state = "may be recovering"
			}
			return found(fmt.Sprintf("its member of %s %s, and %d of %d others are missing",
				o.group.ID, state, o.othersMissing(), o.group.Total-o.share), "its recovery ending").of(o.group.ID)
		}
	}
	return nil
}
