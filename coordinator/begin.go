package coordinator

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/act"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/rollout"
)

// lead takes the DatabaseCluster over and makes passes until the lead is lost.
func (s *session) lead(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.refreshing.Wait()
	defer cancel()
	objects, err := s.objects(ctx)
	if err != nil {
		return err
	}
	was := s.uid
	taken, err := s.takeOver(ctx)
	if err != nil {
		return err
	}
	if err := s.arm(ctx); err != nil {
		return err
	}
	s.departures = newDepartures(time.Now(), taken)
	if s.uid != was {
		s.groups = nil
	}
	s.anew, s.reportingSince, s.workedAt, s.lookedAt = true, time.Now(), time.Time{}, time.Now()
	defer func() { s.turns.leave(time.Now(), s.key) }()
	s.turn, _ = s.turns.ask(s.lookedAt, s.key, len(objects.Pods), false)
	s.turnOver = !s.turn
	s.reporting, s.turnOver = s.turn, false
	s.state = rollout.NewState(s.newest.Status.Epoch, beforeOf(&s.newest.Status))
	s.executor, err = act.New(act.Options{
		Kubernetes: s.options.Kubernetes, Clusters: s.options.Clusters,
		Agents:    orders{agents: s.options.Agents, cache: s.options.Cache, reach: s.options.Reach, key: s.key, clusterUID: s.uid},
		Namespace: s.key.Namespace, Name: s.key.Name, UID: s.uid, Epoch: s.newest.Status.Epoch,
		Bound: s.term.Bound, Notify: s.wake, Logger: s.options.Logger,
	})
	if err != nil {
		return err
	}
	defer s.executor.Wait()
	defer cancel()
	s.log.Info("leading", "epoch", s.newest.Status.Epoch, "claims", len(s.newest.Status.Claims), "pods", len(objects.Pods))
	return s.passes(ctx)
}

// objects waits until the cache knows all about the cluster.
func (s *session) objects(ctx context.Context) (kube.ClusterObjects, error) {
	for {
		objects, ok := s.options.Cache.Cluster(s.key)
		if ok {
			s.unknown = unseenSince{}
			return objects, nil
		}
		s.tellUnknown(ctx, time.Now())
		if !s.exists() {
			return kube.ClusterObjects{}, errOver
		}
		select {
		case <-ctx.Done():
			return kube.ClusterObjects{}, ctx.Err()
		case <-s.events:
		case <-time.After(time.Second):
		}
	}
}

func (s *session) exists() bool { return slices.Contains(s.options.Cache.Clusters(), s.key) }

// takeOver makes the cluster ours in a new epoch.
func (s *session) takeOver(ctx context.Context) (act.Taken, error) {
	bounded, cancel := s.bound(ctx)
	live, err := s.options.Clusters.DatabaseClusters(s.key.Namespace).Get(bounded, s.key.Name, metav1.GetOptions{})
	cancel()
	if apierrors.IsNotFound(err) {
		return act.Taken{}, errOver
	}
	if err != nil {
		return act.Taken{}, fmt.Errorf("read the DatabaseCluster: %w", err)
	}
	seen := s.options.Agents.State(s.key).Epoch()
	taken, err := act.TakeOver(ctx, s.options.Clusters, s.options.Kubernetes, live, seen, s.bound)
	if err != nil {
		return act.Taken{}, err
	}
	s.newest = taken.Cluster
	s.uid, s.statusAt = string(s.newest.UID), time.Now()
	return taken, nil
}

func (s *session) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	bounded, cancelBound := s.term.Bound(ctx)
	return bounded, func() { cancelBound(); cancel() }
}
