package act

import (
	"context"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// AgentClient are the agents of one database cluster. Every call is bounded by its
// context and may be repeated.
type AgentClient interface {
	// PlanDrain asks the agent of a pod what draining it would change, and changes nothing. The
	// bytes, at most 4 KiB, let any agent of the cluster undo it. A setting of the whole database
	// is named apart, and has an undo of its own.
	PlanDrain(ctx context.Context, to effect.Target, order effect.Order) (undo []byte, shared effect.ClusterSetting, err error)
	// Drain has the agent of a pod start or continue to drain it.
	Drain(ctx context.Context, to effect.Target, order effect.Order, undo []byte) (effect.Progress, error)
	// Restore has an agent undo what a drain did.
	Restore(ctx context.Context, to effect.Target, claim string, epoch int64, undo []byte) (done bool, err error)
	// RestoreSetting has an agent put a setting of the whole database back; it starts
	// no write past a time.
	RestoreSetting(ctx context.Context, to effect.Target, shared effect.ClusterSetting, epoch int64, notAfter time.Time) (done bool, err error)
	// RestoreSettingWithoutAgents puts a setting back while no pod of the database has an agent: the
	// coordinator asks a pod's database itself. An error where it may not.
	RestoreSettingWithoutAgents(ctx context.Context, pod effect.Target, shared effect.ClusterSetting, notAfter time.Time) (done bool, err error)
	// HandoffOnBehalf has the agent of a pod hand over the duties of another member of
	// the database, whose pod has no agent. It leaves nothing to be undone.
	HandoffOnBehalf(ctx context.Context, to effect.Target, order effect.Order, member string) (effect.Progress, error)
	// HandoffWithoutAgents hands over for a pod while no pod of the database has an agent: the
	// coordinator asks the pod's database itself. An error where it may not.
	HandoffWithoutAgents(ctx context.Context, pod effect.Target, order effect.Order) (effect.Progress, error)
	// Fresh has the agent of a pod look again, and returns once what it saw is part of every
	// snapshot that is made from then on.
	Fresh(ctx context.Context, to effect.Target) error
}
