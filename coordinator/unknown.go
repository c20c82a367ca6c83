package coordinator

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/status"
)

const (
	// unknownFor is how long the cache may take to know a cluster before people are informed, and
	// unknownStall how long until it counts as a stall.
	unknownFor   = 30 * time.Second
	unknownStall = 10 * time.Minute
	// unknownRetry is how soon that is tried again if it could not be written.
	unknownRetry = 10 * time.Second
)

// unseenSince is since when not everything about a cluster is known, and when to report that next.
type unseenSince struct {
	since, tell time.Time
}

// tellUnknown writes, after a while, why nothing is decided: without all pods there is no snapshot,
// so no plan says it.
func (s *session) tellUnknown(ctx context.Context, now time.Time) {
	if s.unknown.since.IsZero() {
		s.unknown = unseenSince{since: now, tell: now.Add(unknownFor)}
	}
	why := s.options.Cache.Missing(s.key)
	if why == "" || now.Before(s.unknown.tell) {
		return
	}
	stalled := now.Sub(s.unknown.since) >= unknownStall
	if s.unknown.tell = s.unknown.since.Add(unknownStall); stalled {
		s.unknown.tell = now.Add(unknownStall)
	}
	if err := s.writeUnknown(ctx, now, why, stalled); err != nil {
		s.log.Warn("cannot write the status of a DatabaseCluster of which not all is known", "why", why, "error", err)
		s.unknown.tell = now.Add(unknownRetry)
	}
}

func (s *session) writeUnknown(ctx context.Context, now time.Time, why string, stalled bool) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	clusters := s.options.Clusters.DatabaseClusters(s.key.Namespace)
	live, err := clusters.Get(ctx, s.key.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the DatabaseCluster: %w", err)
	}
	live = live.DeepCopy()
	live.Status.Conditions = status.Unknown(live.Status.Conditions, "nothing is decided: "+why, stalled, live.Generation, now)
	s.log.Warn("nothing is decided", "why", why)
	written, err := clusters.UpdateStatus(ctx, live, metav1.UpdateOptions{})
	if err == nil {
		s.newest = written
	}
	return err
}
