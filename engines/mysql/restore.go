package mysql

import (
	"context"
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/switchover"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

// Restore ends a switchover: the drained node allows writes again if no member took over, otherwise
// all follow the new primary. The role does not move back.
func (e *Engine) Restore(ctx context.Context, undoBytes []byte) (engines.Progress, error) {
	planned, err := decodeUndo(undoBytes)
	if err != nil {
		return engines.Progress{}, err
	}
	switch {
	case ctx.Err() != nil:
		return engines.Progress{}, ctx.Err()
	case e.options.Failover != "":
		return engines.Progress{State: engines.ProgressDone}, nil
	}
	s, err := e.serving(ctx)
	if err != nil {
		return engines.Progress{}, err
	}
	if planned.Node != s.Node {
		return e.restoreOther(ctx, planned)
	}
	// A member that never had the role has nothing to take back; one that began a
	// switchover under this claim has.
	begun := s.Switch != nil && s.Switch.From == s.Node
	if !planned.Wrote && !begun {
		return engines.Progress{State: engines.ProgressDone}, nil
	}
	return e.handOver(ctx, task{claim: planned.Claim, wrote: planned.Wrote, undoing: true})
}

// restoreOther asks the node's own agent to take back its role; only that one can.
func (e *Engine) restoreOther(ctx context.Context, planned undo) (engines.Progress, error) {
	v, err := e.gather(ctx, task{claim: planned.Claim, undoing: true}, true)
	if err != nil {
		return engines.Progress{}, err
	}
	from, listed := v.Find(planned.Node)
	took := slices.IndexFunc(v.All(), func(m topology.Member) bool { return m.Allows() && m.State.Switch == nil })
	switch {
	case !planned.Wrote:
		return engines.Progress{State: engines.ProgressDone}, nil
	case took >= 0:
		return engines.Progress{State: engines.ProgressDone, Detail: v.All()[took].Name() + " takes writes"}, nil
	case !listed || !from.Serves():
		return engines.Progress{State: engines.ProgressRunning, Detail: planned.Node + " refuses writes until it is back"}, nil
	}
	answer, err := e.ask(ctx, planned.Node, stepReopen, body{Switch: replication.Switch{Claim: planned.Claim, From: planned.Node}}, task{claim: planned.Claim})
	if err != nil {
		return engines.Progress{State: engines.ProgressRunning, Detail: "trying again: " + engines.OneLine(err.Error())}, nil
	}
	if answer.Refused != "" {
		return engines.Progress{State: engines.ProgressRunning, Detail: answer.Refused}, nil
	}
	return engines.Progress{State: engines.ProgressRunning, Detail: planned.Node + " takes its role back"}, nil
}

// Sweep gives up a switchover of this member whose claim is no longer open.
func (e *Engine) Sweep(ctx context.Context, keep []string) error {
	s, err := e.serving(ctx)
	if err != nil {
		return err
	}
	if e.options.Failover != "" || s.Switch == nil || s.Switch.From != s.Node || slices.Contains(keep, s.Switch.Claim) {
		return nil
	}
	p, err := e.handOver(ctx, task{claim: s.Switch.Claim, wrote: true, undoing: true})
	if err == nil && p.State != engines.ProgressDone {
		err = fmt.Errorf("the switchover of claim %s is not undone yet: %s", s.Switch.Claim, p.Detail)
	}
	return err
}

// Repair repairs at most one thing that a switchover left unfinished.
func (e *Engine) Repair(ctx context.Context) (engines.Progress, error) {
	idle := engines.Progress{State: engines.ProgressDone}
	if e.options.Failover != "" || e.options.Peers == nil {
		return idle, nil
	}
	s := e.local(ctx)
	switch n := s.Switch; {
	case ctx.Err() != nil:
		return engines.Progress{}, ctx.Err()
	case !s.Serving:
		return engines.Progress{State: engines.ProgressRunning, Detail: s.Problem}, nil
	case n == nil && s.Writes == replication.Allowed && s.Source == nil:
		return idle, nil // the primary
	case n != nil && n.From != s.Node && !n.Promoting:
		return engines.Progress{State: engines.ProgressRunning, Detail: n.From + " is handing over"}, nil
	}
	// Old looks are enough to find that there is nothing to do. Actions are decided on new looks.
	var a switchover.Action
	t := task{refusals: map[string]string{}, dropped: new(bool)}
	for _, fresh := range []bool{false, true} {
		v, err := e.gather(ctx, t, fresh)
		if err != nil {
			return engines.Progress{}, err
		}
		if a = switchover.Repair(v); a.Kind == switchover.Done || a.Kind == switchover.Wait {
			break
		}
		if !fresh {
			continue
		}
		if err := e.carryOut(ctx, v, t, a); err != nil {
			if ctx.Err() != nil {
				return engines.Progress{}, ctx.Err()
			}
			a.Reason += ": " + engines.OneLine(err.Error())
		}
		return engines.Progress{State: engines.ProgressRunning, Detail: a.Reason}, nil
	}
	if a.Kind == switchover.Done {
		return engines.Progress{State: engines.ProgressDone, Detail: a.Reason}, nil
	}
	return engines.Progress{State: engines.ProgressRunning, Detail: a.Reason}, nil
}
