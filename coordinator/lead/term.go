package lead

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Term is the time for which a coordinator leads. Its end moves with every renewal of the Lease:
// last renewal, as measured before the request was sent, plus the renew deadline.
type Term struct {
	window time.Duration

	mu      sync.Mutex
	renewed time.Time
}

// Bound gives a request a deadline not later than the term's end as it is known now. Every write in
// the name of the leader uses it.
func (t *Term) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, t.End())
}

// End is when the term ends unless it is renewed.
func (t *Term) End() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.renewed.Add(t.window)
}

func (t *Term) renewedAt(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at.After(t.renewed) {
		t.renewed = at
	}
}

// stampedLock notes when the Lease was renewed last.
type stampedLock struct {
	resourcelock.Interface
	term *Term
}

func (l *stampedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.stamp(record, func() error { return l.Interface.Create(ctx, record) })
}

func (l *stampedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.stamp(record, func() error { return l.Interface.Update(ctx, record) })
}

func (l *stampedLock) stamp(record resourcelock.LeaderElectionRecord, write func() error) error {
	sent := time.Now()
	if err := write(); err != nil {
		return err
	}
	if record.HolderIdentity == l.Identity() {
		l.term.renewedAt(sent)
	}
	return nil
}
