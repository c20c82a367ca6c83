package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/sql"
)

// ErrBusy means that writes could not be stopped within the time; they go on as before.
var ErrBusy = errors.New("writes in progress did not end in time")

// level at which a server refuses writes.
type level struct {
	refused bool // some
	all     bool // also of privileged clients, as far as the server can
	value   string
}

func (s session) writes(ctx context.Context, d *dialect) (level, error) {
	r, err := s.One(ctx, "", d.writes)
	if err != nil {
		return level{}, err
	}
	w, _ := (answers{identity: r}).writes()
	strict, _ := r.On("super_read_only")
	l := level{refused: w != replication.Allowed, all: strict, value: r.Text(d.readOnly)}
	if d.strictest != "" {
		wanted, err := s.stopValue(ctx, d)
		if err != nil {
			return level{}, err
		}
		l.all = strings.EqualFold(l.value, wanted) || wanted == "1" && l.refused
	}
	if w == replication.WritesUnknown {
		return l, errors.New("the server does not tell whether it allows writes")
	}
	return l, nil
}

// stopValue is that of the variable which refuses most.
func (s session) stopValue(ctx context.Context, d *dialect) (string, error) {
	if d.strictest == "" {
		return "1", nil
	}
	rows, err := s.Rows(ctx, d.needs.schema, d.origin)
	if err != nil {
		return "", err
	}
	for _, r := range rows {
		if slices.Contains(strings.Split(r.Text("levels"), ","), d.strictest) {
			return d.strictest, nil
		}
	}
	return "1", nil
}

// StopWrites lets the server give up by itself, within the time: a statement that is
// only abandoned goes on in the server and might take effect later. The server
// takes two locks one after the other, and waits for each as long as it may.
func (l *Server) StopWrites(ctx context.Context, within time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	seconds := max(1, int(within/2/time.Second))
	limit := 2*time.Duration(seconds)*time.Second + l.options.Timeout
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s, err := l.session(bounded)
	if err != nil {
		return err
	}
	defer func() { s.End(false) }() // its waits are shorter than others expect
	d, err := s.dialect(bounded, l.options.Flavor)
	if err != nil {
		return err
	}
	before, err := s.writes(bounded, d)
	if err != nil || before.all {
		return err
	}
	id, failed, err := s.tryToStop(bounded, d, seconds)
	if err != nil {
		return err
	}
	// From here on the caller's patience is not what matters.
	after, cancelAfter := context.WithTimeout(context.WithoutCancel(ctx), l.options.Timeout)
	defer cancelAfter()
	if err := l.settle(after, d, id, before, failed); err != nil {
		return err
	}
	if sql.Number(failed) == sql.RefusedBusy {
		return ErrBusy
	}
	return failed
}

// tryToStop returns the number of the connection that tries. An error means that nothing
// was done; failed, that it is not known whether anything was.
func (s session) tryToStop(ctx context.Context, d *dialect, seconds int) (id uint64, failed, err error) {
	value, err := s.stopValue(ctx, d)
	if err != nil {
		return 0, nil, err
	}
	own, err := s.One(ctx, "", `SELECT CONNECTION_ID() AS id`)
	if err != nil {
		return 0, nil, err
	}
	id, ok := own.Number("id")
	if !ok {
		return 0, nil, errors.New("the server does not tell the number of the connection")
	}
	if err := s.Do(ctx, "", fmt.Sprintf(`SET SESSION lock_wait_timeout = %d`, seconds)); err != nil {
		return 0, nil, err
	}
	failed = s.Do(ctx, d.needs.readOnly, fmt.Sprintf(`SET GLOBAL %s = %s`, d.readOnly, value))
	if n := sql.Number(failed); n != sql.RefusedBusy && n != 0 {
		return 0, nil, failed // it said no and did nothing
	}
	return id, failed, nil
}

// settle makes sure of what a try to stop writes came to: all of it, or nothing.
func (l *Server) settle(ctx context.Context, d *dialect, id uint64, before level, failed error) error {
	s, err := l.session(ctx)
	if err != nil {
		return err
	}
	defer s.End(true)
	if failed != nil && sql.Number(failed) == 0 { // nothing was heard: it may still be waiting
		if err := s.ended(ctx, d, id); err != nil {
			return fmt.Errorf("it is not known whether writes were stopped: %w", err)
		}
	}
	now, err := s.writes(ctx, d)
	switch {
	case err != nil:
		return fmt.Errorf("it is not known whether writes were stopped: %w", err)
	case failed == nil && !now.refused:
		return errors.New("the server still allows writes")
	case failed == nil || now.value == before.value && now.refused == before.refused:
		return nil
	}
	undo := d.allow
	if before.refused { // ordinary clients could not write before either
		undo = undo[:len(undo)-1]
	}
	for _, q := range undo {
		if err := s.Do(ctx, d.needs.readOnly, q); err != nil {
			return err
		}
	}
	return nil
}

// ended kills a session of ours and waits until it is gone.
func (s session) ended(ctx context.Context, d *dialect, id uint64) error {
	for {
		err := s.Do(ctx, d.needs.kill, fmt.Sprintf(`KILL CONNECTION %d`, id))
		if sql.Number(err) == sql.RefusedNoThread {
			return nil
		}
		if err != nil {
			return err
		}
		if !engines.Sleep(ctx, 50*time.Millisecond) {
			return ctx.Err()
		}
	}
}
