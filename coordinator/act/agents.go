package act

import (
	"context"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// AgentClient calls the agents of one database cluster. Every call is bounded by its context and
// may be repeated.
type AgentClient interface {
	// PlanDrain asks the agent of a pod what draining it would change, and changes nothing. With
	// the returned bytes, at most 4 KiB, any agent of the cluster can undo the drain. A cluster
	// setting is returned separately, with an undo of its own.
	PlanDrain(ctx context.Context, to effect.Target, order effect.Order) (undo []byte, shared effect.ClusterSetting, err error)
	// Drain asks the agent of a pod to start or continue to drain it.
	Drain(ctx context.Context, to effect.Target, order effect.Order, undo []byte) (effect.Progress, error)
	// Restore asks an agent to undo what a drain did.
	Restore(ctx context.Context, to effect.Target, claim string, epoch int64, undo []byte) (done bool, err error)
	// RestoreSetting asks an agent to restore a cluster setting. The agent starts no write after
	// the given time.
	RestoreSetting(ctx context.Context, to effect.Target, shared effect.ClusterSetting, epoch int64, notAfter time.Time) (done bool, err error)
	// RestoreSettingWithoutAgents restores a setting while no pod of the database has an agent: the
	// coordinator asks a pod's database itself. It returns an error if it may not.
	RestoreSettingWithoutAgents(ctx context.Context, pod effect.Target, shared effect.ClusterSetting, notAfter time.Time) (done bool, err error)
	// HandoffOnBehalf asks the agent of a pod to hand over the duties of another member of the
	// database, whose pod has no agent. There is nothing to undo afterwards.
	HandoffOnBehalf(ctx context.Context, to effect.Target, order effect.Order, member string) (effect.Progress, error)
	// HandoffWithoutAgents hands over for a pod while no pod of the database has an agent: the
	// coordinator asks the pod's database itself. It returns an error if it may not.
	HandoffWithoutAgents(ctx context.Context, pod effect.Target, order effect.Order) (effect.Progress, error)
	// Fresh asks the agent of a pod for a new report. It returns when that report is part of every
	// snapshot made from then on.
	Fresh(ctx context.Context, to effect.Target) error
}
