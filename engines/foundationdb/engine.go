// Package foundationdb adapts FoundationDB (6.3 to 7.4) to the engines contract. It
// runs fdbcli as a process, and reads what it prints.
package foundationdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// Engine is the adapter. It is safe for concurrent use; fdbcli runs once at a time.
type Engine struct {
	options Options
	client  *client
	born    time.Time
	now     func() time.Time
	looking chan struct{} // held by the look that is under way

	mu     sync.Mutex
	memory memory
	last   lastLook
}

var _ engines.SettingChanger = (*Engine)(nil)

// New returns an engine. It does not run anything yet.
func New(options Options) (*Engine, error) {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, fmt.Errorf("foundationdb options: %w", err)
	}
	file, err := newClusterFile(options)
	if err != nil {
		return nil, fmt.Errorf("foundationdb options: %w", err)
	}
	born, err := bornAt(options.StateDir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("foundationdb options: state directory: %w", err), file.close())
	}
	return &Engine{options: options, client: newClient(options, file), born: born, now: time.Now, looking: make(chan struct{}, 1)}, nil
}

// bornAt is when the first engine of this pod was made: the directory lives as long
// as the pod. Without one it is not known.
func bornAt(dir string) (time.Time, error) {
	if dir == "" {
		return time.Time{}, nil
	}
	path := filepath.Join(dir, "foundationdb.born")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = file.Close()
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return time.Time{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// Facts returns the facts of FoundationDB.
func (e *Engine) Facts() engines.Facts {
	return engines.Facts{
		Name: "FoundationDB",
		// Until a storage server that does not answer counts as failed.
		SettleSeconds: 60,
		MaxMajorStep:  1,
		SameMinor:     true, // until all are restarted, the protocol differs
		// The exclusion list belongs to the whole database, and so does the status.
		EvacuatesOthers: true,
		NamedByPod:      true,
		ByZone:          true,
		DataRoles:       []string{"storage", "general"},
		Replaced:        true,
	}
}

// PlanDrain returns what Restore must undo.
func (e *Engine) PlanDrain(ctx context.Context, order engines.Order) ([]byte, error) {
	if err := order.CheckAny(); err != nil {
		return nil, err
	}
	s, err := e.recently(ctx, func(s snapshot) bool { return order.Kind == engines.Handoff || len(s.excluded) == 0 })
	if err != nil {
		return nil, err
	}
	node := order.Subject(e.options.Instance)
	u := undo{Undo: order.UndoOn(node)}
	if order.Kind == engines.Evacuate {
		if err := u.plan(s.status, order.Claim, node); err != nil {
			return nil, err
		}
	}
	return u.encode()
}

// recently is the last look where that ended a moment ago, succeeded, and still holds, or the one that
// is under way, which is waited for; else a new one. It is for plans alone: who asks for one has looked
// just before, and has time for one look. (TestPlansUseTheLastLook, TestPlansWaitForTheLookUnderWay).
func (e *Engine) recently(ctx context.Context, holds func(snapshot) bool) (snapshot, error) {
	last := func() (snapshot, bool) { return e.lastThat(holds) }
	if s, ok := last(); ok {
		return s, ctx.Err()
	}
	return e.available(ctx, func(ctx context.Context) (snapshot, error) { return e.lookUnless(ctx, last) })
}

// lastThat is the last look, where a plan may use it.
func (e *Engine) lastThat(holds func(snapshot) bool) (snapshot, bool) {
	e.mu.Lock()
	last, age := e.last, e.now().Sub(e.last.ended)
	e.mu.Unlock()
	if last.status == nil || isClosed(e.client.closed) || !is(last.available) || age < 0 || age >= recent || last.changes != e.client.changes.Load() || !holds(last.snapshot) {
		return snapshot{}, false
	}
	return last.snapshot, true
}

// asked looks at the database, which must be available for a change.
func (e *Engine) asked(ctx context.Context) (snapshot, error) {
	return e.available(ctx, e.look)
}

func (e *Engine) available(ctx context.Context, look func(context.Context) (snapshot, error)) (snapshot, error) {
	s, err := look(ctx)
	switch {
	case ctx.Err() != nil:
		return snapshot{}, ctx.Err()
	case err != nil:
		return snapshot{}, err
	case !is(s.available):
		return snapshot{}, s.down()
	}
	return s, nil
}

// Drain does one round of the order's work.
func (e *Engine) Drain(ctx context.Context, order engines.Order, undoBytes []byte) (engines.Progress, error) {
	if err := order.CheckAny(); err != nil {
		return engines.Progress{}, err
	}
	u, err := readUndo(undoBytes)
	if err != nil {
		return engines.Progress{}, err
	}
	node := order.Subject(e.options.Instance)
	if err := u.Matches(order, node); err != nil {
		return engines.Progress{}, err
	}
	s, err := e.asked(ctx)
	if err != nil {
		return engines.Progress{}, err
	}
	if why := s.lockedWords(); why != "" {
		return running("%s", why), nil
	}
	var progress engines.Progress
	if order.Kind == engines.Evacuate {
		progress, err = e.evacuate(ctx, order, u, s)
		progress.Detail = s.besides(node, progress.Detail)
	} else {
		progress, err = e.handoff(ctx, order, node, s)
	}
	var no refusal
	switch {
	case errors.As(err, &no):
		return no.progress(err), nil
	case errors.Is(err, ErrCommand):
		return running("it is asked again: %v", err), nil
	}
	return progress, err
}

func running(format string, args ...any) engines.Progress {
	return engines.Progress{State: engines.ProgressRunning, Detail: fmt.Sprintf(format, args...)}
}

func refused(format string, args ...any) engines.Progress {
	return engines.Progress{State: engines.ProgressRefused, Detail: fmt.Sprintf(format, args...)}
}

// ready returns why the database cannot spare anything now; empty means that it can.
func (e *Engine) ready(s snapshot) string {
	switch h := s.health(e.options.Recovered); h.Verdict {
	case engines.VerdictGreen, engines.VerdictRecoverable:
		return ""
	default:
		return h.Reason
	}
}

// Close ends what runs. Later calls fail with ErrClosed.
func (e *Engine) Close() error {
	e.client.close()
	e.client.turn <- struct{}{} // wait for the one that runs
	defer func() { <-e.client.turn }()
	return e.client.file.close()
}
