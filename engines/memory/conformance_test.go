package memory_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/memory"
)

func TestConformance(t *testing.T) {
	enginetest.Run(t, enginetest.Harness{Virtual: true, Start: func(t *testing.T) enginetest.Database {
		members := []string{"db-0", "db-1", "db-2", "db-3"}
		c := memory.New(memory.Options{Step: 1, Allocation: "all"}, members...)
		for _, g := range []string{"books/shard1", "books/shard2", "pages/shard1"} {
			c.AddGroup(g, members[:3]...)
		}
		var faults [4]atomic.Uint32
		var changes atomic.Int64
		changes.Store(-1)
		c.Intercept(func(ctx context.Context, call memory.Call) error {
			if call.Op == memory.Write {
				if left := changes.Load(); left == 0 {
					return errors.New("change failed")
				} else if left > 0 {
					changes.Store(left - 1)
				}
			}
			switch enginetest.Fault(faults[slices.Index(members, call.Node)].Load()) {
			case enginetest.Healthy:
				return nil
			case enginetest.Hung:
				ctx, cancel := context.WithTimeout(ctx, 150*time.Millisecond)
				defer cancel()
				<-ctx.Done()
				return ctx.Err()
			default:
				return errors.New("server does not work")
			}
		})
		return enginetest.Database{
			Members:     members,
			Engine:      func(i int) engines.Engine { return c.Engine(members[i]) },
			Fault:       func(i int, f enginetest.Fault) { faults[i].Store(uint32(f)) },
			FailChanges: func(after int) { changes.Store(int64(after)) },
			Leads:       func(i int) int { return c.Leads(members[i]) },
			Hosts:       func(i int) int { return c.Hosts(members[i]) },
			Leftovers:   c.Marks,
		}
	}})
}
