package act

import (
	"context"
	"errors"
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

func (x *Executor) movePartition(ctx context.Context, e effect.MovePartition) effect.Result {
	ctx, cancel := x.bound(ctx)
	defer cancel()
	res := effect.PartitionMoved{Pool: e.Move.Pool.Name}
	res.Moved, res.Err = x.moveIdle(ctx, e)
	return res
}

// moveIdle moves a partition where that frees no pod.
func (x *Executor) moveIdle(ctx context.Context, e effect.MovePartition) (*effect.SetSeen, error) {
	set, err := x.readSet(ctx, e.Move, e.Expected)
	if err != nil {
		return nil, err
	}
	if e.Finished != "" && (set.CurrentRevision != set.UpdateRevision || set.UpdateRevision != e.Finished) {
		return nil, fmt.Errorf("%w: its current revision is %s", effect.ErrSetChanged, set.CurrentRevision)
	}
	if e.CheckOthers {
		if err := x.stillThere(ctx, e.Expected); err != nil {
			return nil, err
		}
	}
	if err := x.unchanged(ctx, e.Expected); err != nil {
		return nil, err
	}
	moved, err := x.sets.move(ctx, set, e.Move.To)
	if err != nil {
		return nil, err
	}
	x.log.Info("partition moved", "pool", set.Name, "partition", moved.Partition, "why", e.Reason)
	return &moved, nil
}

// move lowers the partition to free a claimed pod. The StatefulSet is read before the
// DatabaseCluster: a coordinator that leads by then has touched it, or the write fails.
func (x *Executor) move(ctx context.Context, to effect.PartitionMove, e effect.Expected) (*effect.SetSeen, error) {
	set, err := x.readSet(ctx, to, e)
	if err != nil {
		return nil, err
	}
	if err := x.unchanged(ctx, e); err != nil {
		return nil, err
	}
	moved, err := x.sets.move(ctx, set, to.To)
	if err != nil {
		return nil, err
	}
	x.log.Info("partition lowered", "pool", set.Name, "ordinal", to.To)
	return &moved, nil
}

// readSet reads the StatefulSet of a pool as it was decided on.
func (x *Executor) readSet(ctx context.Context, to effect.PartitionMove, e effect.Expected) (effect.SetSeen, error) {
	set, err := x.sets.read(ctx, to.Pool.Name)
	switch {
	case err != nil:
		return effect.SetSeen{}, err
	case set.UID != to.Pool.UID, set.Generation != to.Pool.Generation, set.Force != to.Force, set.Paused && !e.Paused:
		return effect.SetSeen{}, effect.ErrSetChanged
	}
	return set, nil
}

// raise puts the partition above a pod that stays, and returns nil when the controller has observed
// that. While a write that lowers it may still be carried out, the StatefulSet is touched before it
// is read.
func (x *Executor) raise(ctx context.Context, to effect.PartitionRaise, e effect.CloseGuard) (*effect.SetSeen, error) {
	look := x.sets.read
	if e.Rewrite {
		look = func(ctx context.Context, set string) (effect.SetSeen, error) {
			return x.sets.touch(ctx, set, x.options.Epoch)
		}
	}
	set, err := look(ctx, to.Pool)
	if err != nil {
		return nil, err
	}
	var moved *effect.SetSeen
	if set.FirstOrdinal() <= to.Ordinal {
		if err := x.unchanged(ctx, e.Expected); err != nil && !errors.Is(err, effect.ErrChanged) {
			return nil, err
		}
		if set, err = x.sets.move(ctx, set, to.Ordinal+1); err != nil {
			return nil, err
		}
		moved = &set
	}
	if set.ObservedGeneration < set.Generation {
		return moved, effect.ErrNotObserved
	}
	return moved, nil
}
