package opensearch

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// Restore removes what the claim's marks own. Copies do not move back at once; OpenSearch balances
// as at any time.
func (e *Engine) Restore(ctx context.Context, undoBytes []byte) (engines.Progress, error) {
	planned, err := engines.DecodeUndo(undoBytes)
	if err != nil {
		return engines.Progress{}, err
	}
	s, err := e.api.settings(ctx)
	if err != nil {
		return engines.Progress{}, err
	}
	gone := slices.DeleteFunc(s.marks(), func(m mark) bool { return m.Claim != planned.Claim || m.Node != planned.Node })
	if len(gone) == 0 {
		return engines.Progress{State: engines.ProgressDone}, nil
	}
	left, err := e.release(ctx, gone, time.Time{})
	switch {
	case refused(err):
		return e.tellMoved(engines.Progress{State: engines.ProgressRunning, Detail: "trying again: " + err.Error()}), nil
	case err != nil:
		return engines.Progress{}, err
	case left:
		return e.tellMoved(engines.Progress{State: engines.ProgressRunning, Detail: "looking whether the entries stay away"}), nil
	}
	return e.tellMoved(engines.Progress{State: engines.ProgressDone}), nil
}

// Sweep removes entries of this node whose claims are not open.
func (e *Engine) Sweep(ctx context.Context, keep []string) error {
	self, err := e.api.identity(ctx)
	if err != nil {
		return err
	}
	// At most twice: the second look removes the marks.
	for range 2 {
		s, err := e.api.settings(ctx)
		if err != nil {
			return err
		}
		gone := slices.DeleteFunc(s.marks(), func(m mark) bool { return m.Node != self.name || slices.Contains(keep, m.Claim) })
		if len(gone) == 0 {
			return nil
		}
		if _, err := e.release(ctx, gone, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}

// release takes entries away, and their marks once a later look shows that they stay away: whoever
// changed a list at the same moment has written them again without knowing, and without its mark an
// entry would stay for ever. It returns whether such a look is due.
func (e *Engine) release(ctx context.Context, gone []mark, notAfter time.Time) (left bool, err error) {
	s, err := e.api.settings(ctx)
	if err != nil {
		return false, err
	}
	all := s.marks()
	var votesGone []mark
	for _, m := range gone {
		if m.What == votes {
			votesGone = append(votesGone, m)
		}
	}
	v := voting{}
	if len(votesGone) > 0 {
		if err := e.letVote(ctx, votesGone, all, notAfter); err != nil {
			return false, err
		}
		if v, err = e.api.voting(ctx); err != nil {
			return false, err
		}
	}
	persistent, transient, kept := changes{}, changes{}, without(all, gone)
	for _, m := range gone {
		if m.What == votes {
			if _, still := splitExclusions(v.exclusions, votesGone, all); len(still) > 0 || len(forgotten(v.exclusions, votesGone)) > 0 {
				left = true
				continue
			}
			persistent[m.key()] = nil
			continue
		}
		level, changed := s.persistent, persistent
		if m.What == copiesTransient {
			level, changed = s.transient, transient
		}
		if now := entries(level[settingExclude]); slices.Contains(now, m.Entry) && !marked(kept, m.What, m.Entry) {
			rest := strings.Join(slices.DeleteFunc(now, func(n string) bool { return n == m.Entry }), ",")
			changed.setOrDrop(settingExclude, rest, rest != "")
			left = true
			continue
		}
		persistent[m.key()] = nil
	}
	if len(persistent)+len(transient) == 0 {
		return left, nil
	}
	return left, e.write(ctx, notAfter, persistent, transient)
}
