package foundationdb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// Restore removes what the order added to the exclusion list, as marks there say, and nothing else.
// Data and seats that have moved stay where they are; the maintenance of a zone is ended by
// RestoreSetting.
func (e *Engine) Restore(ctx context.Context, undoBytes []byte) (engines.Progress, error) {
	u, err := readUndo(undoBytes)
	if err != nil {
		return engines.Progress{}, err
	}
	s, err := e.asked(ctx)
	if err != nil {
		return engines.Progress{}, err
	}
	ours, left, err := s.toInclude(u)
	if err != nil {
		return engines.Progress{}, err
	}
	progress, err := e.include(ctx, s, ours, time.Time{})
	if err == nil && progress.State == engines.ProgressDone && len(left) > 0 {
		progress.Detail = fmt.Sprintf("on the exclusion list stay %s: no mark there says that claim %s has excluded them. Whoever knows better takes them off with include",
			engines.Some(left), engines.OneLine(u.Claim))
	}
	return progress, err
}

// include removes entries from the exclusion list. It is Done only if the list is without them.
func (e *Engine) include(ctx context.Context, s snapshot, entries []string, notAfter time.Time) (engines.Progress, error) {
	there := slices.DeleteFunc(slices.Clone(entries), func(t string) bool { return !s.lists(t) })
	if len(there) == 0 {
		return engines.Progress{State: engines.ProgressDone}, nil
	}
	if why := s.lockedWords(); why != "" {
		return running("%d entries stay on the exclusion list: %s", len(there), why), nil
	}
	if why := s.notAvailableFor(e.options.Recovered); why != "" {
		return running("%d entries stay on the exclusion list until the database has recovered: %s", len(there), why), nil
	}
	if err := engines.InTime(notAfter); err != nil {
		return engines.Progress{}, err
	}
	a, err := e.client.run(ctx, "include "+strings.Join(there, " "))
	if err != nil {
		return engines.Progress{}, err
	}
	if err := a.done("include"); err != nil {
		return engines.Progress{}, err
	}
	return running("%d entries are taken off the exclusion list", len(there)), nil
}

// notAvailableFor returns why the database has not been available again for so long. An included
// process may be recruited, and a recovery reads the list. Old logs, which last for as long as any
// storage server is away, hold nothing. (TestNothingIsIncludedDuringARecovery, TestOldLogsHoldNoInclude).
func (s snapshot) notAvailableFor(wanted time.Duration) string {
	if why := s.recoveringYet(); why != "" {
		return why
	}
	if s.recovered < wanted {
		return s.justRecovered(wanted)
	}
	return ""
}

// Sweep removes exclusions of this pod with our mark whose claim is not open. Exclusions without a
// mark are foreign.
func (e *Engine) Sweep(ctx context.Context, keep []string) error {
	s, err := e.asked(ctx)
	if err != nil {
		return err
	}
	entries := s.leftovers(e.options.Instance, keep)
	progress, err := e.include(ctx, s, entries, time.Time{})
	switch {
	case err != nil || progress.State == engines.ProgressDone:
		return err
	case s.locked:
		return fmt.Errorf("%w: %s", ErrLocked, progress.Detail)
	case s.notAvailableFor(e.options.Recovered) != "":
		return fmt.Errorf("%w: %s", ErrRecovering, progress.Detail)
	}
	return nil
}

// leftovers are the marks of the pod whose claims are not open, and what they stand for
// unless that of an open one stands for it, too. Any other entry is somebody else's, also
// of the same pod.
func (s *status) leftovers(instance string, keep []string) []string {
	var found, kept []string
	for _, t := range s.excluded {
		switch pod, open := marks(t, instance, keep); {
		case !pod:
		case open:
			kept = append(kept, marked(t, instance, s.of(instance))...)
		default:
			found = append(found, t)
		}
	}
	for _, mark := range slices.Clone(found) {
		found = append(found, marked(mark, instance, s.of(instance))...)
	}
	return slices.DeleteFunc(found, func(t string) bool { return slices.Contains(kept, t) })
}
