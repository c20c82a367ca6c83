package coordinator

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout"
	"github.com/rollcall-dev/rollcall/coordinator/view"
)

// gathered is what the next look is compared with.
type gathered struct {
	// basis is what the last pass looked at.
	basis *view.Basis
	// departures are the pods that went, whoever caused it.
	departures *departures
	// groups are those of the last look. While no reports are followed, they are those of which not
	// all copies were there.
	groups []model.Group
	// noticed are the conditions of pods at the last look.
	noticed []v1alpha1.PodCondition
	// notLive is since when others have said that pods without an agent are not live.
	notLive map[string]time.Time
	// unshown counts the remaining pods of a DatabaseCluster that is being deleted.
	unshown int
	// unknown notes for how long the cache has not known everything about the cluster.
	unknown unseenSince
}

// inputs are what a pass is based on.
type inputs struct {
	objects kube.ClusterObjects
	facts   rollout.Facts
	// wake is when the facts will change by time alone. It is zero if never.
	wake time.Time
}

// gather looks at what Kubernetes and the agents say. It returns false if not everything is known
// yet.
func (s *session) gather(ctx context.Context, now time.Time) (in inputs, known bool, err error) {
	s.basis = nil
	objects, ok := s.options.Cache.Cluster(s.key)
	if !ok {
		if !s.exists() {
			return in, false, errOver
		}
		s.turnWhileUnknown(now)
		s.tellUnknown(ctx, now)
		return in, false, nil
	}
	s.unknown = unseenSince{}
	objects.Cluster = s.later(objects.Cluster)
	if string(objects.Cluster.UID) != s.uid {
		return in, false, fmt.Errorf("the DatabaseCluster is another one now, with UID %s", objects.Cluster.UID)
	}
	hidden := s.showUnlabelled(ctx, now, &objects)
	s.freshen(ctx, now, objects)
	due := s.provide(ctx, now, objects)
	s.fleet.noteClaims(s.key, len(objects.Cluster.Status.Claims), len(objects.Pods)+len(objects.Pools))
	in.objects = objects
	in.facts = factsOf(objects, s.snapshot(now, objects), s.names(now, objects, objects.Cluster.Status.Claims))
	in.facts.ForeignBudgets, in.facts.LastDeparture = s.guard().Refused, s.departures.last()
	in.facts.Disputed = s.basis.Disputed(model.PrimaryGroup)
	in.wake = sooner(due, hidden, s.basis.Until())
	return in, true, nil
}

// freshen updates whose reports are followed and which may be taken for fresh.
func (s *session) freshen(ctx context.Context, now time.Time, objects kube.ClusterObjects) {
	s.blind = s.reporting && (s.blind || anyBlind(objects))
	s.options.Agents.Follow(s.key, followingOf(objects, s.reporting, s.blind))
	if s.turnOver {
		s.turnOver = false
		s.turns.leave(now, s.key)
	}
	if s.departures.look(now, objects.Pods, s.options.Agents.State(s.key)) {
		s.anew = true
	}
	if s.anew && s.reporting {
		s.anew = false
		// All agents are asked to look again; otherwise some would take seconds.
		s.refreshing.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, requestTimeout)
			defer cancel()
			if err := s.options.Agents.Refresh(ctx, s.key); err != nil {
				s.log.Debug("not all agents have looked again", "error", err)
			}
		})
	}
}

func (s *session) input(now time.Time, objects kube.ClusterObjects) view.Input {
	facts := engineFacts(objects.Cluster.Spec.Engine)
	known := s.groups
	if !s.reporting {
		known = nil // rosters list no groups
	}
	return view.Input{
		Now: now, Kube: objects, Agents: s.options.Agents.State(s.key), Idle: !s.reporting,
		Barrier: s.departures.barrier, Known: known, Noticed: s.noticed, NotLive: s.notLive, Engine: policyFacts(facts), MinSource: facts.MinSource, NamedByPod: facts.NamedByPod, Replaced: facts.Replaced, Unlisted: facts.Unlisted, Topologies: facts.Topologies,
		Fleet: s.fleet.state(), GuardEnforcing: s.guard().Enforcing,
	}
}

// names returns the database's names for pods. They are needed only while pods are adopted or
// replaced.
func (s *session) names(now time.Time, objects kube.ClusterObjects, claims []model.Claim) map[string]string {
	adopting := func(claim model.Claim) bool {
		return claim.Prepare == model.PrepareNone &&
			slices.ContainsFunc(objects.Pods, func(p kube.Pod) bool { return string(p.UID) == claim.UID && !p.Agent })
	}
	replacing := func(claim model.Claim) bool { return claim.Action == model.ActionReplace }
	if !slices.ContainsFunc(claims, adopting) && !slices.ContainsFunc(claims, replacing) {
		return nil
	}
	return view.Names(s.input(now, objects))
}

func (s *session) snapshot(now time.Time, objects kube.ClusterObjects) model.Snapshot {
	in := s.input(now, objects)
	snapshot, basis := view.Look(in)
	s.basis = basis
	s.noticed = view.Conditions(snapshot, now)
	s.notLive = view.NotLive(snapshot, in)
	if s.reporting {
		s.groups = snapshot.Groups
	} else {
		s.groups = unseen(s.groups)
	}
	return snapshot
}

// later returns the newer of the cache's object and our own. API servers count resourceVersions up.
// If one does not, the cache's object counts, and a write to one that is behind fails.
func (s *session) later(cached *v1alpha1.DatabaseCluster) *v1alpha1.DatabaseCluster {
	if s.newest == nil || cached.UID != s.newest.UID {
		return cached
	}
	c, errC := strconv.ParseUint(cached.ResourceVersion, 10, 64)
	n, errN := strconv.ParseUint(s.newest.ResourceVersion, 10, 64)
	if errC == nil && errN == nil && c < n {
		return s.newest
	}
	return cached
}
