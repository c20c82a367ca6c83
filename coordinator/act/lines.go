package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// manyResets of what was written to a partition are no order of a person: some
// tool keeps the field as it has it. They are forgotten after a while without one.
const (
	manyResets   = 3
	resetsForget = time.Hour
)

// line is what this process knows of one pool's hold line. Only the goroutine
// that calls Advance touches it.
type line struct {
	busy    bool
	retryAt time.Time
	errors  int
	// drawn is the StatefulSet as it was after our last write of its partition;
	// undone: somebody has written another one since.
	drawn   *SeenSet
	undone  bool
	resets  int
	resetAt time.Time
}

func (a *Actor) lineOf(pool string) *line {
	if a.lines[pool] == nil {
		a.lines[pool] = &line{}
	}
	return a.lines[pool]
}

// drew notes a write of a partition.
func (a *Actor) drew(set *SeenSet) {
	if set != nil {
		l := a.lineOf(set.Name)
		l.drawn, l.undone = set, false
	}
}

// draw moves the hold lines that the plan wants elsewhere, where that takes no
// pod away, and counts how often somebody moves them back.
func (a *Actor) draw(ctx context.Context, at Situation, out *Outcome) {
	for _, pool := range at.Pools {
		l := a.lineOf(pool.Name)
		l.count(at.Now, pool)
		if l.resets >= manyResets {
			if out.Resets == nil {
				out.Resets = map[string]int{}
			}
			out.Resets[pool.Name] = l.resets
		}
		wanted := slices.IndexFunc(at.Plan.Lines, func(w model.Line) bool { return w.Pool == pool.Name })
		if wanted < 0 || l.busy || !mayDraw(at, pool, at.Plan.Lines[wanted]) {
			continue
		}
		if at.Now.Before(l.retryAt) {
			out.wake(l.retryAt)
			continue
		}
		l.busy = true
		a.running.Go(func() {
			drawn, err := a.drawLine(ctx, at, at.Plan.Lines[wanted])
			a.tell(func() {
				l.busy = false
				a.drew(drawn)
				l.wrote(err)
				if errors.Is(err, errDeposed) {
					a.depose()
				}
			})
		})
	}
}

// count tells an edit of the partition after ours from a cache that is behind.
func (l *line) count(now time.Time, pool Pool) {
	if l.resets > 0 && now.Sub(l.resetAt) > resetsForget {
		l.resets = 0
	}
	ours := l.drawn
	if ours == nil || l.undone || !pool.Foreign || pool.Generation <= ours.Generation || pool.UID != ours.UID {
		return
	}
	l.undone, l.resetAt = true, now
	l.resets++
	if l.resets > 1 {
		l.retryAt = now.Add(min(firstRest<<min(l.resets-2, 8), lastRest))
	}
}

func (l *line) wrote(err error) {
	if err == nil {
		l.errors = 0
		return
	}
	l.retryAt = time.Now().Add(min(firstRetry<<min(l.errors, 10), lastRetry))
	l.errors++
}

// mayDraw: the line goes back to rest after a rollout only when the StatefulSet
// controller has made the new revision the current one: what is recreated below
// the line comes back on that.
func mayDraw(at Situation, pool Pool, to model.Line) bool {
	known := slices.IndexFunc(at.Snapshot.Pools, func(p model.Pool) bool { return p.Name == pool.Name })
	return known >= 0 && (!rests(at.Snapshot, at.Snapshot.Pools[known], to) || pool.CurrentRevision == at.Snapshot.Pools[known].Revision)
}

// rests: the line goes up, and nobody is out of date.
func rests(s model.Snapshot, pool model.Pool, to model.Line) bool {
	return to.Partition > pool.Partition && !slices.ContainsFunc(s.Pods, func(p model.Pod) bool {
		return p.Pool == pool.Name && p.Phase != model.Missing && p.Revision != pool.Revision
	})
}

func (a *Actor) drawLine(ctx context.Context, at Situation, to model.Line) (*SeenSet, error) {
	ctx, cancel := a.bound(ctx)
	defer cancel()
	known := slices.IndexFunc(at.Snapshot.Pools, func(p model.Pool) bool { return p.Name == to.Pool })
	pool := at.Snapshot.Pools[known]
	set, err := a.readSet(ctx, at, pool)
	if err != nil {
		return nil, err
	}
	if rests(at.Snapshot, pool, to) && (set.Current != set.Update || set.Update != pool.Revision) {
		return nil, fmt.Errorf("%w: its current revision is %s", errSetChanged, set.Current)
	}
	if to.Partition < pool.Partition { // a pod that has gone since came back on the old revision
		if err := a.stillThere(ctx, at, ""); err != nil {
			return nil, err
		}
	}
	if err := a.stillLeads(ctx, at); err != nil {
		return nil, err
	}
	drawn, err := a.sets.move(ctx, set, to.Partition)
	if err != nil {
		return nil, err
	}
	a.log.Info("hold line moved", "pool", to.Pool, "partition", strconv.Itoa(int(drawn.Partition)), "why", to.Reason)
	return &drawn, nil
}
