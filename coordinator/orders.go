package coordinator

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/coordinator/act"
	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// poolsOf is what a step is told of the StatefulSets.
func poolsOf(pools []kube.Pool) []effect.Pool {
	out := make([]effect.Pool, 0, len(pools))
	for i := range pools {
		p := &pools[i]
		out = append(out, effect.Pool{Name: p.Name, UID: string(p.UID), Generation: p.Generation,
			CurrentRevision: p.CurrentRevision, Selector: p.Selector(), Foreign: p.Ordered()})
	}
	return out
}

// volumesOf are the names of the templates of the volume claims of each StatefulSet.
func volumesOf(pools []kube.Pool) map[string][]string {
	out := make(map[string][]string, len(pools))
	for i := range pools {
		out[pools[i].Name] = pools[i].Shape.Templates()
	}
	return out
}

// orders carries an Executor's orders to the agents of one database cluster.
type orders struct {
	agents     *agents.Agents
	cache      Cache
	reach      func(ctx context.Context, spec model.Spec, ip string) (engines.Engine, error)
	key        Key
	clusterUID string
}

var _ act.AgentClient = orders{}

// reasonStaleEpoch is the agents' reason, in a google.rpc.ErrorInfo, for an
// order whose epoch is lower than one that was seen.
const reasonStaleEpoch = "STALE_EPOCH"

// reasonOwnAgentOnly is theirs for a pod for which nobody else can hand over.
const reasonOwnAgentOnly = "OWN_AGENT_ONLY"

func (o orders) PlanDrain(ctx context.Context, to effect.Target, order effect.Order) ([]byte, effect.ClusterSetting, error) {
	answer, err := o.agents.PlanDrain(ctx, o.key, to.UID, &rollcallv1.PlanDrainRequest{
		Kind: kindOf(order), Claim: order.Claim, Fence: o.fence(order.Epoch), PodUid: order.For.UID, Node: order.For.Node,
		Eligible: order.Eligible, Primary: primaryOf(order),
	}, order.NotAfter)
	return answer.GetUndo(), effect.ClusterSetting{Name: answer.GetSetting(), Undo: answer.GetSettingUndo()}, judge(err)
}

func (o orders) Drain(ctx context.Context, to effect.Target, order effect.Order, undo []byte) (effect.Progress, error) {
	answer, err := o.agents.Drain(ctx, o.key, to.UID, &rollcallv1.DrainRequest{
		Kind: kindOf(order), Claim: order.Claim, Fence: o.fence(order.Epoch), PodUid: order.For.UID, Node: order.For.Node,
		Eligible: order.Eligible, Undo: undo,
		Setting: order.Setting.Name, SettingUndo: order.Setting.Undo, Recheck: order.Anew,
		Primary: primaryOf(order), KeepWrites: order.KeepWrites,
	}, order.NotAfter)
	if err != nil {
		return effect.Progress{}, judge(err)
	}
	progress := effect.Progress{State: model.DrainRunning, Detail: answer.GetDetail(), Writes: writesOf(answer.GetWrites())}
	switch answer.GetState() {
	case rollcallv1.Drain_DRAIN_DRAINED:
		progress.State = model.DrainDone
	case rollcallv1.Drain_DRAIN_REFUSED:
		progress.State = model.DrainRefused
	}
	if total := answer.GetTotal(); total > 0 {
		progress.Detail = fmt.Sprintf("%s (%d of %d)", progress.Detail, answer.GetDone(), total)
	}
	return progress, nil
}

// primaryOf is what the order says of the primary. Hold says nothing: the pod of a primary that is
// held goes only where a person overrides that.
func primaryOf(order effect.Order) rollcallv1.Primary {
	switch order.Primary {
	case model.PrimarySwitchover:
		return rollcallv1.Primary_PRIMARY_SWITCHOVER
	case model.PrimaryRestartInPlace:
		return rollcallv1.Primary_PRIMARY_RESTART_IN_PLACE
	}
	return rollcallv1.Primary_PRIMARY_UNSPECIFIED
}

func kindOf(order effect.Order) rollcallv1.DrainKind {
	if order.Prepare == model.PrepareEvacuate {
		return rollcallv1.DrainKind_DRAIN_KIND_EVACUATE
	}
	return rollcallv1.DrainKind_DRAIN_KIND_HANDOFF
}

func (o orders) HandoffOnBehalf(ctx context.Context, to effect.Target, order effect.Order, member string) (effect.Progress, error) {
	answer, err := o.agents.HandoffOnBehalf(ctx, o.key, to.UID, &rollcallv1.HandoffOnBehalfRequest{
		Claim: order.Claim, Fence: o.fence(order.Epoch), Node: member,
		Eligible: order.Eligible,
	}, order.NotAfter)
	progress := effect.Progress{State: model.DrainRunning, Detail: answer.GetDetail()}
	if answer.GetDone() {
		progress.State = model.DrainDone
	}
	return progress, judge(err)
}

func (o orders) Restore(ctx context.Context, to effect.Target, claim string, epoch int64, undo []byte) (bool, error) {
	answer, err := o.agents.Restore(ctx, o.key, to.UID, &rollcallv1.RestoreRequest{
		Claim: claim, Fence: o.fence(epoch), Undo: undo,
	})
	return answer.GetDone(), judge(err)
}

func (o orders) RestoreSetting(ctx context.Context, to effect.Target, shared effect.ClusterSetting, epoch int64, notAfter time.Time) (bool, error) {
	answer, err := o.agents.RestoreSetting(ctx, o.key, to.UID, &rollcallv1.RestoreSettingRequest{
		Fence: o.fence(epoch), Setting: shared.Name, SettingUndo: shared.Undo,
	}, notAfter)
	return answer.GetDone(), judge(err)
}

func (o orders) Fresh(ctx context.Context, to effect.Target) error {
	received, err := o.agents.Fresh(ctx, o.key, to.UID)
	if err != nil {
		return err
	}
	if problem := received.Report.GetError(); problem != "" {
		return fmt.Errorf("%s sees nothing: %s", to.Pod, problem)
	}
	return nil
}

func (o orders) fence(epoch int64) *rollcallv1.Fence {
	return &rollcallv1.Fence{ClusterUid: o.clusterUID, Epoch: epoch}
}

// judge tells refusals that mean something to the core from other failures.
func judge(err error) error {
	s := status.Convert(err)
	for _, detail := range s.Details() {
		info, ok := detail.(*errdetails.ErrorInfo)
		switch {
		case ok && info.GetReason() == reasonStaleEpoch:
			return fmt.Errorf("%w: %w", effect.ErrStaleEpoch, err)
		case ok && info.GetReason() == reasonOwnAgentOnly:
			return &effect.OwnAgentOnlyError{Why: s.Message()}
		}
	}
	return err
}

// writesOf returns what an agent says of the writes of clients. A value of a later version is none
// that keeps them.
func writesOf(w rollcallv1.Writes) effect.Writes {
	switch w {
	case rollcallv1.Writes_WRITES_UNSPECIFIED:
		return effect.WritesUntold
	case rollcallv1.Writes_WRITES_KEPT:
		return effect.WritesKept
	case rollcallv1.Writes_WRITES_READY:
		return effect.WritesReady
	}
	return effect.WritesMayStop
}
