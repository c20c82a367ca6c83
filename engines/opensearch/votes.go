package opensearch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// votePlan is what is left to do until the cluster can decide without a node.
type votePlan struct {
	// exclude are the nodes that must not vote: the node itself, and others so that an eligible
	// node is elected next. The others' exclusions end as soon as the election is over.
	exclude []string
	// release are the marks of those others.
	release []mark
	// waiting says what is left to wait for once the plan is done. Empty means nothing.
	waiting string
	// alone means that no other node could decide.
	alone bool
}

// planVotes is pure. A node is excluded from voting if it is the elected manager, or if the other
// voters would not be a majority: with one or two voters, each is needed. OpenSearch then makes a
// smaller or another set of voters, and elects one of them.
func planVotes(r *reading, node, claim string, eligible []string) votePlan {
	id, _ := r.state.byName(node)
	ours := slices.DeleteFunc(r.settings.marks(), func(m mark) bool {
		return m.What != votes || m.Claim != claim || m.Node != node
	})
	others := slices.DeleteFunc(slices.Clone(ours), func(m mark) bool { return m.Entry == node })
	decides := r.state.elected == id || r.needed(id)
	if !decides {
		return votePlan{release: others}
	}
	var able, unable, untold []string
	for other, n := range r.state.nodes {
		facts, told := r.facts[other]
		switch {
		case other == id || r.voting.excludes(other, n.name):
		case !told:
			untold = append(untold, n.name)
		case !facts.manages():
		case len(eligible) == 0 || slices.Contains(eligible, n.name):
			able = append(able, n.name)
		default:
			unable = append(unable, n.name)
		}
	}
	excluded := r.voting.excludes(id, node)
	switch {
	case len(able)+len(unable) == 0 && len(untold) > 0:
		slices.Sort(untold)
		return votePlan{waiting: fmt.Sprintf("waiting for %s to tell whether they could be elected instead of %s", engines.Some(untold), node)}
	case len(able)+len(unable) == 0:
		return votePlan{alone: true, release: others}
	case !excluded:
		p := votePlan{exclude: []string{node}}
		if len(able) > 0 { // else anybody is better than nobody
			slices.Sort(unable)
			p.exclude = append(p.exclude, unable...)
		}
		return p
	}
	return votePlan{waiting: "waiting for another elected manager than " + node}
}

// needed reports whether one of the voting configurations has no majority without the node.
func (r *reading) needed(id string) bool {
	for _, voters := range [][]string{r.voting.committed, r.voting.accepted} {
		if !slices.Contains(voters, id) {
			continue
		}
		left := 0
		for _, v := range voters {
			_, there := r.state.nodes[v]
			left += count(there && v != id)
		}
		if left < len(voters)/2+1 {
			return true
		}
	}
	return false
}

// handVotes does one round. It returns Done if the cluster can decide without the node; the detail
// says so if it never can.
func (e *Engine) handVotes(ctx context.Context, order engines.Order, node string, r *reading) (engines.Progress, error) {
	plan := planVotes(r, node, order.Claim, order.Eligible)
	switch {
	case len(plan.exclude) > 0:
		if err := e.excludeVoters(ctx, order, node, plan.exclude, r); err != nil {
			return engines.Progress{}, err
		}
		return engines.Progress{State: engines.ProgressRunning, Detail: "another manager is to be elected than " + node}, nil
	case plan.waiting != "":
		return engines.Progress{State: engines.ProgressRunning, Detail: plan.waiting}, nil
	case len(plan.release) > 0:
		if _, err := e.release(ctx, plan.release, order.NotAfter); err != nil {
			return engines.Progress{}, err
		}
		return engines.Progress{State: engines.ProgressRunning, Detail: "letting others vote again"}, nil
	case plan.alone:
		state := engines.ProgressDone
		if order.Kind == engines.Evacuate {
			state = engines.ProgressRefused // the cluster's metadata would be lost with its data
		}
		return engines.Progress{State: state, Detail: "no other manager can take over from " + node}, nil
	}
	return engines.Progress{State: engines.ProgressDone}, nil
}

// excludeVoters writes the marks first: an exclusion without a mark would count as foreign.
func (e *Engine) excludeVoters(ctx context.Context, order engines.Order, node string, names []string, r *reading) error {
	ours := changes{}
	for _, name := range names {
		m := mark{Claim: order.Claim, Node: node, What: votes, Entry: name}
		if _, there := r.settings.persistent[m.key()]; !there {
			ours.set(m.key(), m.String())
		}
	}
	if len(ours) > 0 {
		if err := e.write(ctx, order.NotAfter, ours, nil); err != nil {
			return fmt.Errorf("mark exclusions of %s: %w", engines.Some(names), err)
		}
	}
	if err := engines.InTime(order.NotAfter); err != nil {
		return err
	}
	if err := e.api.excludeVoters(ctx, names, nil); err != nil {
		return fmt.Errorf("exclude %s from voting: %w", engines.Some(names), err)
	}
	return nil
}

// letVote removes the voting exclusions of the marks. OpenSearch can only remove all exclusions, so
// those of others, or of other claims, are added again at once. A mark remembers them until that is
// done.
func (e *Engine) letVote(ctx context.Context, gone, all []mark, notAfter time.Time) error {
	v, err := e.api.voting(ctx)
	if err != nil {
		return err
	}
	keep, remove := splitExclusions(v.exclusions, gone, all)
	lost := forgotten(v.exclusions, gone)
	if len(remove) > 0 {
		if len(keep) > 0 {
			remembering := gone[0]
			remembering.Others = keep
			if err := e.write(ctx, notAfter, changes{remembering.key(): new(remembering.String())}, nil); err != nil {
				return err
			}
		}
		if err := engines.InTime(notAfter); err != nil {
			return err
		}
		if err := e.api.clearVoters(ctx); err != nil {
			return fmt.Errorf("end voting exclusions: %w", err)
		}
		lost = keep
	}
	return e.excludeAgain(ctx, lost)
}

// excludeAgain also works after the end of an order, because it repairs what Rollcall did.
func (e *Engine) excludeAgain(ctx context.Context, lost []exclusion) error {
	var names, ids []string
	for _, x := range lost {
		if x.Name != absent && x.Name != "" {
			names = append(names, x.Name)
		} else {
			ids = append(ids, x.ID)
		}
	}
	if len(names) > 0 {
		if err := e.api.excludeVoters(ctx, names, nil); err != nil {
			return fmt.Errorf("put back voting exclusions of others: %w", err)
		}
	}
	if len(ids) > 0 {
		if err := e.api.excludeVoters(ctx, nil, ids); err != nil {
			return fmt.Errorf("put back voting exclusions of others: %w", err)
		}
	}
	return nil
}

// splitExclusions splits the exclusions: those that only the marks in gone own go, all others stay.
func splitExclusions(now []exclusion, gone, all []mark) (keep, remove []exclusion) {
	left := without(all, gone)
	for _, x := range now {
		if marked(gone, votes, x.Name) && !marked(left, votes, x.Name) {
			remove = append(remove, x)
		} else {
			keep = append(keep, x)
		}
	}
	return keep, remove
}

// forgotten returns exclusions that an agent removed, and ended before it could add them again.
func forgotten(now []exclusion, gone []mark) []exclusion {
	var out []exclusion
	for _, m := range gone {
		for _, x := range m.Others {
			if !slices.ContainsFunc(now, x.same) && !slices.Contains(out, x) {
				out = append(out, x)
			}
		}
	}
	return out
}
