package mysql

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/server"
	"github.com/rollcall-dev/rollcall/engines/mysql/switchover"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

// The steps that members ask each other to take.
const (
	stepIntend  = "intend"  // note the try
	stepCatchUp = "catchup" // have what is frozen
	stepPromote = "promote" // take over
	stepForget  = "forget"  // the try is over: never take over by it
	stepFollow  = "follow"  // follow the primary
	stepReopen  = "reopen"  // take the own role back
)

// catchUpWithin bounds one wait for missing transactions. The step is repeated.
const catchUpWithin = time.Second

// body is the body of a step.
type body struct {
	Switch  replication.Switch `json:"switch"`
	Primary string             `json:"primary,omitempty"`
}

// until is the end of the try by the clock here, which the step carries. Without it, the
// clock of the member that hands over counts.
func (b body) until(step engines.Step) time.Time {
	if step.NotAfter.IsZero() {
		return b.Switch.Until
	}
	return step.NotAfter
}

// answer is the answer to a step: the state of the member after it.
type answer struct {
	State replication.State `json:"state"`
	// Refused says why the step was not taken; empty means that it was taken.
	Refused string `json:"refused,omitempty"`
	// Never means that the member had noted the try, was not asked to take over, and now never will
	// take over. It says so even if its server does not answer.
	Never bool `json:"never,omitempty"`
}

// ask another member to take a step.
func (e *Engine) ask(ctx context.Context, node, step string, b body, t task) (answer, error) {
	data, err := json.Marshal(b)
	if err != nil {
		return answer{}, err
	}
	if err := engines.InTime(t.notAfter); err != nil {
		return answer{}, err
	}
	data, err = e.options.Peers.Step(ctx, node, engines.Step{
		Name: step, Claim: b.Switch.Claim, Epoch: t.epoch, NotAfter: t.notAfter, Body: data,
	})
	if err != nil {
		return answer{}, err
	}
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return answer{}, fmt.Errorf("%s of %s: %w", step, node, err)
	}
	if a.State.Node != node {
		return answer{}, fmt.Errorf("%s of %s: %q has answered", step, node, engines.OneLine(a.State.Node))
	}
	return a, nil
}

var errStep = errors.New("step is not valid")

// Step takes a step that another member asks for, if the present state permits it.
func (e *Engine) Step(ctx context.Context, step engines.Step) ([]byte, error) {
	var b body
	if len(step.Body) > engines.MaxStep {
		return nil, fmt.Errorf("%w: %d bytes: must be at most %d", errStep, len(step.Body), engines.MaxStep)
	}
	decoder := json.NewDecoder(bytes.NewReader(step.Body))
	if err := decoder.Decode(&b); err != nil || decoder.More() {
		return nil, fmt.Errorf("%w: %s: not readable", errStep, engines.OneLine(step.Name))
	}
	take, ok := map[string]func(context.Context, engines.Step, body, replication.State) (string, error){
		stepIntend: e.intend, stepCatchUp: e.caughtUp, stepPromote: e.promoted, stepFollow: e.followed, stepReopen: e.reopen,
	}[step.Name]
	if !ok && step.Name != stepForget {
		return nil, fmt.Errorf("%w: %q", errStep, engines.OneLine(step.Name))
	}
	if err := engines.InTime(step.NotAfter); err != nil {
		return nil, err
	}
	var a answer
	var err error
	if e.options.Failover != "" {
		a.Refused = "another manager owns the topology"
	} else if step.Name == stepForget {
		a.Never = e.forget(b.Switch)
	} else if a.Refused, err = take(ctx, step, b, e.local(ctx)); err != nil {
		return nil, err
	}
	a.State = e.local(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return json.Marshal(a)
}

// intend notes a try, if no other is noted.
func (e *Engine) intend(_ context.Context, step engines.Step, b body, own replication.State) (refused string, err error) {
	n := replication.Switch{Claim: b.Switch.Claim, At: b.Switch.At, From: b.Switch.From, FromID: b.Switch.FromID, Until: b.until(step)}
	e.mu.Lock()
	over := e.over[n.From]
	e.mu.Unlock()
	switch open := own.Switch; {
	case n.From == own.Node || n.From == "" || engines.CheckClaim(n.Claim) != nil:
		return "", fmt.Errorf("%w: intend of %q", errStep, engines.OneLine(n.From))
	case !n.At.After(over):
		return fmt.Sprintf("%s knows that this try is over, or the clock of %s was set back: the last one began at %s", own.Node, engines.OneLine(n.From), over.UTC().Format(time.RFC3339)), nil
	case !time.Now().Before(n.Until):
		return "the time of this try is over", nil
	case open != nil && open.From != n.From:
		return fmt.Sprintf("%s has noted that %s is handing over", own.Node, engines.OneLine(open.From)), nil
	case open != nil && open.Promoting && !open.Same(&n):
		return own.Node + " is taking over already", nil
	case open != nil && n.At.Before(open.At):
		return own.Node + " knows of a later try", nil
	case own.Writes == replication.Allowed:
		return own.Node + " allows writes itself", nil
	case e.stays() != "":
		return fmt.Sprintf("%s knows that %s keeps its role", own.Node, e.stays()), nil
	case open.Same(&n):
		return "", nil
	}
	e.keep(&n)
	return "", nil
}

// forget ends a try and all before it. After its answer this member does not allow writes because
// of any of them. never means that it has not done so because of this one either.
func (e *Engine) forget(n replication.Switch) (never bool) {
	const most = 100 // of members that hand over
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.over[n.From]; !known && len(e.over) >= most {
		clear(e.over)
	}
	if n.At.After(e.over[n.From]) {
		e.over[n.From] = n.At
	}
	if e.note != nil && e.note.From == n.From && !e.note.At.After(n.At) {
		if !e.note.Promoting {
			e.never = e.note
		}
		e.note = nil
	}
	return e.never.Same(&n)
}

// caughtUp waits a little for what is frozen.
func (e *Engine) caughtUp(ctx context.Context, _ engines.Step, b body, own replication.State) (refused string, err error) {
	if !own.Switch.Same(&b.Switch) {
		return own.Node + " has not noted this try", nil
	}
	if !own.Serving {
		return own.Node + " does not serve", nil
	}
	_, err = e.server.Awaits(ctx, b.Switch.Frozen, catchUpWithin)
	return "", err
}

// promoted takes over.
func (e *Engine) promoted(ctx context.Context, step engines.Step, b body, own replication.State) (refused string, err error) {
	n := b.Switch
	open := own.Switch
	end := b.until(step)
	self := topology.Member{State: own, Known: true}
	switch {
	case !open.Same(&n):
		return own.Node + " has not noted this try", nil
	case n.To != own.Node:
		return "", fmt.Errorf("%w: %q is to take over, not %q", errStep, engines.OneLine(n.To), own.Node)
	case !time.Now().Before(end):
		return "the time to take over is over", nil
	case !own.Serving:
		return own.Node + " does not serve", nil
	case own.Writes == replication.Allowed:
		return "", nil
	case own.Source == nil && !open.Promoting:
		return own.Node + " follows nobody", nil
	case own.Source != nil && !topology.Sends(promisor(n, own), self):
		return fmt.Sprintf("%s follows %s", own.Node, engines.OneLine(own.Source.Host)), nil
	}
	if ok, why := self.Has(n.Frozen); !ok {
		return fmt.Sprintf("%s has not caught up: %s", own.Node, why), nil
	}
	n.Promoting, n.Until = true, end
	e.keep(&n)
	if err = e.takeOver(ctx, own, end); !server.Refused(err) {
		return "", err
	}
	if now := (topology.Member{State: e.local(ctx), Known: true}); !now.Refuses() {
		return "", err
	}
	// The server itself refused. Asking again would only keep writes stopped.
	e.keep(nil)
	return fmt.Sprintf("%s cannot take over: %v", own.Node, err), nil
}

// succeed clears the promise that was kept, and notes from which member the role came.
func (e *Engine) succeed(own replication.State) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if own.Switch != nil {
		e.predecessor = own.Switch.From
	}
	e.note = nil
}

// takeOver makes the local member the primary, because of a promise that it has noted. The caller
// has checked that it has everything frozen. It may be interrupted anywhere and repeated. It does
// not allow writes after the end of the try.
func (e *Engine) takeOver(ctx context.Context, own replication.State, end time.Time) error {
	if err := e.stopFollowing(ctx, own); err != nil {
		return err
	}
	if !time.Now().Before(end) {
		return engines.ErrTooLate
	}
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	if err := e.server.AllowWrites(ctx); err != nil {
		return err
	}
	e.succeed(own)
	return nil
}

// open makes the local member the primary, because all members are known and no other could be the
// primary.
func (e *Engine) open(ctx context.Context, own replication.State) error {
	if err := e.stopFollowing(ctx, own); err != nil {
		return err
	}
	return e.server.AllowWrites(ctx)
}

// stopFollowing leaves the local server as a primary is, except that it refuses writes.
func (e *Engine) stopFollowing(ctx context.Context, own replication.State) error {
	if own.Source != nil {
		if err := e.server.Detach(ctx); err != nil {
			e.interrupted()
			return err
		}
	}
	return e.server.AcknowledgeAs(ctx, true)
}

// followed makes the local server follow the primary that the asking member names, if it
// looks so from here.
func (e *Engine) followed(ctx context.Context, step engines.Step, b body, own replication.State) (refused string, err error) {
	v, err := e.gather(ctx, task{}, true)
	if err != nil {
		return "", err
	}
	to := e.after(ctx, v, b.Primary)
	switch {
	case own.Switch != nil && own.Switch.Promoting:
		return own.Node + " is taking over", nil
	case !to.Allows():
		return fmt.Sprintf("%s does not see that %s allows writes", own.Node, engines.OneLine(b.Primary)), nil
	case v.Self.State.Writes == replication.Allowed:
		return own.Node + " allows writes itself", nil
	case v.Kind() == engines.FixedPrimary:
		return own.Node + " follows a primary that keeps its role", nil
	}
	if why := v.CannotFollow(v.Self, to); why != "" {
		return why, nil
	}
	return "", e.followHere(ctx, v, to, step.NotAfter)
}

// followHere makes the local server a replica of the primary. It enables acknowledgements
// before it connects.
func (e *Engine) followHere(ctx context.Context, v switchover.Input, to topology.Member, notAfter time.Time) error {
	if err := engines.InTime(notAfter); err != nil {
		return err
	}
	if err := e.server.AcknowledgeAs(ctx, false); err != nil {
		e.interrupted()
		return err
	}
	if topology.Sends(to, v.Self) {
		return e.server.StartFollowing(ctx)
	}
	host, port, err := v.AddressOf(to)
	if err != nil {
		return err
	}
	return e.server.Follow(ctx, host, port, v.Self.State.Source == nil)
}

// reopen notes that an earlier agent here may have stopped writes under the claim. It is noted as a
// try without a known candidate, which Repair gives up.
func (e *Engine) reopen(_ context.Context, _ engines.Step, b body, own replication.State) (refused string, err error) {
	if b.Switch.From != own.Node || engines.CheckClaim(b.Switch.Claim) != nil {
		return "", fmt.Errorf("%w: reopen of %q", errStep, engines.OneLine(b.Switch.From))
	}
	if own.Switch != nil {
		return "", nil
	}
	if own.Writes == replication.RefusedBySQL && own.Source == nil && e.closedElsewhere() {
		return own.Node + " was made read-only by somebody: it stays so until it is opened or follows another one", nil
	}
	if own.Writes == replication.RefusedBySQL && own.Source == nil {
		now := time.Now()
		e.keep(&replication.Switch{Claim: b.Switch.Claim, From: own.Node, At: now, Until: now, Promoting: true})
	}
	return "", nil
}

// promisor is the member whose role the own one takes over; it has seen that the own one
// follows it.
func promisor(n replication.Switch, own replication.State) topology.Member {
	return topology.Member{State: replication.State{Node: n.From, ID: n.FromID, Replicas: []replication.Replica{{ID: own.ID}}}}
}
