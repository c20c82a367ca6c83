package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

// Ask returns a client that came by the process at r.Via.
func (w *World) Ask(_ context.Context, r wire.Request) (wire.Reply, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.catchUp()
	c := w.cluster
	reply := wire.Reply{Fault: w.faultOf(r.Via)}
	if r.Op == wire.Open {
		w.calls = append(w.calls, r.Exec)
	}
	if reply.Fault == wire.WrongDatabase {
		c = w.wrong()
	} else if !w.ours(r.Connection) {
		return wire.Reply{Problem: wire.Stranger}, nil
	}
	reply.Version, reply.ReadVersion = c.Version.String(), c.ReadVersion()
	if r.Line != "" && r.Line != c.Version.Line() {
		return wire.Reply{Problem: wire.Stranger, Version: reply.Version}, nil
	}
	if c == w.cluster && c.Created() {
		reply.Connection = c.Connection()
	}
	down := reply.Fault == wire.Down || !c.Created()
	reply.Available = !down && c.Accepting()
	switch {
	case r.Op == wire.Open:
	case r.Op == wire.Status && down:
		reply.Document = string(c.DownJSON())
	case r.Op == wire.Status:
		reply.Delay = w.statusDelay(c)
		reply.Available = reply.Available && c.Resolved()
		reply.Document = string(c.StatusJSON())
	case !reply.Available:
		reply.Problem = wire.Unavailable
	default:
		reply.Problem = do(c, r, &reply)
		c.Advance(0)
	}
	if r.Op == wire.SetCoordinators && reply.Problem == wire.NoProblem && c == w.cluster {
		reply.Connection = c.Connection()
	}
	reply.Healthy = reply.Available && c.Truth().SpareCopies == c.Redundancy.Copies()-1
	return reply, nil
}

// statusDelay is how much later a status comes while a recovery is under way. What it says is what was when it was asked.
func (w *World) statusDelay(c *model.Cluster) time.Duration {
	if c.Accepting() || w.scale <= 0 {
		return 0
	}
	return time.Duration(float64(c.Pace.StatusDelay) / w.scale)
}

func (w *World) faultOf(via string) wire.Fault {
	if p := w.cluster.At(via); p != nil {
		if f := w.faults[p.Instance]; f != wire.None {
			return f
		}
	}
	return w.faults[""]
}

// wrong is another cluster, which has nothing of the first but its version.
func (w *World) wrong() *model.Cluster {
	if w.other == nil {
		w.other = model.New(model.Spec{
			Description: "other", Prefix: "other", Version: w.cluster.Version.String(), PerZone: 1,
			Address: func(n int) string { return fmt.Sprintf("192.0.2.%d:4500", 1+n) },
		})
	}
	return w.other
}

// ours reports whether a connection string leads here, or once did. Before there is a database, every one does.
func (w *World) ours(key string) bool {
	return !w.cluster.Created() || slices.Contains(w.cluster.Keys, key)
}

// do does what transactions do.
func do(c *model.Cluster, r wire.Request, reply *wire.Reply) wire.Problem {
	switch r.Op {
	case wire.Workers:
		for _, p := range c.Workers() {
			reply.Addresses = append(reply.Addresses, p.Address)
		}
		slices.Sort(reply.Addresses)
	case wire.Exclude:
		if !r.Force && !c.Room(r.Targets) {
			return wire.NoRoom
		}
		c.Exclude(r.Targets, r.Failed)
	case wire.Excluding:
		reply.Excluded, reply.Failed, reply.InProgress = slices.Clone(c.Excluded), slices.Clone(c.Failed), c.InProgress()
		reply.WaitsForAll = c.Version.WaitsForAll()
		reply.Seats = c.SeatAddresses()
		reply.Stands = map[string][]string{}
		for _, t := range r.Targets {
			reply.Stands[t] = c.Stands(t)
		}
	case wire.Include:
		c.Include(r.Targets, r.Failed, r.All)
	case wire.Maintenance:
		reply.Zone, reply.Seconds, reply.IgnoresFails = c.Maintenance.Zone, (c.Maintenance.Until - c.Now).Seconds(), c.IgnoreFailures
	case wire.Maintain:
		if c.IgnoreFailures {
			return wire.Ignored
		}
		if r.Zone == "" {
			c.EndMaintenance()
		} else {
			c.Maintain(r.Zone, time.Duration(r.Seconds*float64(time.Second)))
		}
	case wire.Distribution:
		distribution(c, r.Mode)
	case wire.Coordinators:
		reply.Description = c.Description
		reply.Addresses = c.ShownSeats()
	case wire.SetCoordinators:
		return setCoordinators(c, r)
	case wire.Kill:
		return kill(c, r.Targets)
	case wire.ReadKeys:
		if c.LockUID != "" && !r.LockAware {
			return wire.Locked
		}
		reply.Keys = c.KeysBetween(r.Begin, r.End)
	case wire.Lock:
		if c.LockUID != "" {
			return wire.Locked
		}
		c.LockUID = r.Key
	case wire.Commit, wire.Read:
		return data(c, r, reply)
	}
	return wire.NoProblem
}

// data is what clients write and read.
func data(c *model.Cluster, r wire.Request, reply *wire.Reply) wire.Problem {
	if c.LockUID != "" && !r.LockAware {
		return wire.Locked
	}
	switch r.Op {
	case wire.Commit:
		return problem(c.Commit(r.Key, r.Value))
	case wire.Read:
		value, err := c.Read(r.Key)
		reply.Value = value
		return problem(err)
	}
	return wire.NoProblem
}

func distribution(c *model.Cluster, mode string) {
	switch mode {
	case "on", "off":
		c.SetDistribution(mode == "on")
	case "disable ssfailure", "enable ssfailure":
		c.IgnoreFailures = mode == "disable ssfailure"
	case "disable rebalance", "enable rebalance":
		c.Distributor.NoRebalance = mode == "disable rebalance"
	}
}

func setCoordinators(c *model.Cluster, r wire.Request) wire.Problem {
	addresses := r.Targets
	if r.Auto {
		var err error
		if addresses, err = c.AutoCoordinators(); err != nil {
			return problem(err)
		}
	}
	return problem(c.SetCoordinators(addresses, r.Description))
}

func kill(c *model.Cluster, addresses []string) wire.Problem {
	for _, a := range addresses {
		if p := c.At(a); p == nil || !p.Up {
			return wire.Unrecognised
		}
	}
	for _, a := range addresses {
		c.Reboot(c.At(a).Instance)
	}
	return wire.NoProblem
}

func problem(err error) wire.Problem {
	switch {
	case err == nil:
		return wire.NoProblem
	case errors.Is(err, model.ErrSameCoordinators):
		return wire.Unchanged
	case errors.Is(err, model.ErrCoordinatorUnreachable):
		return wire.Unreachable
	case errors.Is(err, model.ErrNotEnoughMachines):
		return wire.FewMachines
	default:
		return wire.Unavailable
	}
}
