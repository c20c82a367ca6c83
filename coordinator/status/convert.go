package status

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// noReport is the age of a missing report.
const noReport = -1

// ClusterProto returns a decision in the form of the gRPC service.
func ClusterProto(d Decision) *rollcallv1.Cluster {
	c := &rollcallv1.Cluster{
		Namespace: d.Key.Namespace,
		Name:      d.Key.Name,
		Engine:    string(d.Snapshot.Cluster.Spec.Engine),
		Phase:     string(d.Phase),
		Topology:  string(d.Snapshot.Cluster.Topology),

		TopologyWhy: d.Snapshot.Cluster.TopologyWhy,

		Epoch: d.Snapshot.Cluster.Status.Epoch,
		Pods: &rollcallv1.PodCounts{
			Desired:     d.Pods.Desired,
			Current:     d.Pods.Current,
			Updated:     d.Pods.Updated,
			Ready:       d.Pods.Ready,
			Unavailable: d.Pods.Away,
			Failed:      d.Pods.Failed,
		},
		Plan:      planProto(d.Plan),
		DecidedAt: stamp(d.DecidedAt),
		Withheld:  d.Withheld,
	}
	if s := StallOf(d); s != nil {
		c.Stalled = &rollcallv1.Stall{Rule: s.Rule, Message: s.Message}
	}
	for _, claim := range d.Claims {
		c.Claims = append(c.Claims, claimProto(claim))
	}
	for _, p := range PoolsOf(d) {
		c.Pools = append(c.Pools, &rollcallv1.PoolState{
			Name: p.Name, Revision: p.Revision, Version: p.Version, Desired: p.Desired, Updated: p.Updated, Ready: p.Ready, Complete: p.Complete,
		})
	}
	for _, pod := range d.Snapshot.Pods {
		c.PodStates = append(c.PodStates, podProto(d, pod))
	}
	return c
}

func planProto(p model.Plan) *rollcallv1.Plan {
	plan := &rollcallv1.Plan{
		Phase: string(p.Phase),
		Budget: &rollcallv1.Budget{
			PodLimit:         int32(p.Budget.Pods.Limit),
			PodsUnavailable:  int32(p.Budget.Pods.Away),
			PodsClaimed:      int32(p.Budget.Pods.Claimed),
			PodRoom:          int32(p.Budget.Pods.Room),
			ZoneLimit:        int32(p.Budget.Zones.Limit),
			ZonesUnavailable: int32(p.Budget.Zones.Away),
		},
		Order:             p.Order,
		RetryAfterSeconds: p.RetryAfterSeconds,
		Forecast: &rollcallv1.Forecast{
			Waves:        int32(p.Forecast.Waves),
			Seconds:      float64(p.Forecast.Seconds),
			BoundSeconds: float64(p.Forecast.BoundSeconds),
		},
	}
	for _, s := range p.Steps {
		plan.Steps = append(plan.Steps, &rollcallv1.Step{
			Pod:           s.Pod,
			Uid:           s.UID,
			Unit:          s.Unit,
			Action:        string(s.Action),
			Drain:         string(s.Prepare),
			Reason:        string(s.Reason),
			OutsideBudget: s.OutsideBudget,
			Partition:     s.Partition,
			Notes:         s.Notes,
			BeforeTurn:    s.BeforeTurn,
		})
	}
	for _, h := range p.Holds {
		plan.Holds = append(plan.Holds, &rollcallv1.Hold{
			Pod:      h.Pod,
			Rule:     string(h.Rule),
			Group:    h.Group,
			Reason:   h.Reason,
			Unblocks: h.Unblocks,
		})
	}
	return plan
}

func claimProto(c model.Claim) *rollcallv1.Claim {
	return &rollcallv1.Claim{
		Id:        c.ID,
		Pod:       c.Pod,
		Uid:       c.UID,
		Action:    string(c.Action),
		Reason:    string(c.Reason),
		Drain:     string(c.Prepare),
		Phase:     string(c.Phase),
		Epoch:     c.Epoch,
		StartedAt: stamp(c.StartedAt.Time),
	}
}

func podProto(d Decision, pod model.Pod) *rollcallv1.PodState {
	pool, _ := d.Pool(pod.Pool)
	state := &rollcallv1.PodState{
		Pod:              pod.Name,
		Uid:              pod.UID,
		Zone:             pod.Zone,
		Phase:            string(pod.Phase),
		Revision:         pod.Revision,
		Updated:          progress.Updated(pod, pool),
		ReportAgeSeconds: noReport,
		Guard:            string(pod.Guard),
	}
	if r := pod.Report; r != nil {
		state.Member = string(r.Member)
		state.Roles = r.Roles
		state.ReportAgeSeconds = r.AgeSeconds
	}
	if claim, ok := d.ClaimOf(pod.Name); ok {
		state.ClaimPhase = string(claim.Phase)
	}
	return state
}

// stamp returns null for the zero time, which as a timestamp would be the year 1.
func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
