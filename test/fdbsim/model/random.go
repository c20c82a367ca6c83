package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Random is a cluster to which things have happened: processes are unavailable, volumes lost,
// targets excluded, a zone is under maintenance, data moves, a recovery is under way; or nothing of
// all that. The same generator gives the same cluster.
func Random(r *rand.Rand) *Cluster {
	c := New(randomSpec(r))
	for range r.IntN(8) {
		c.Disturb(r)
	}
	return c
}

func randomSpec(r *rand.Rand) Spec {
	spec := Spec{
		Redundancy: pick(r, Single, Double, Double, Double, Triple, Triple, ThreeDataHall),
		Version:    pick(r, "6.3.25", "7.1.41", "7.1.67", "7.3.20", "7.3.63", "7.4.5"),
		PerZone:    1 + r.IntN(3), Shards: 2 + r.IntN(8), Logs: 1 + r.IntN(5),
	}
	// Mostly enough zones for all copies, and sometimes just too few.
	spec.Zones = max(1, spec.Redundancy.Copies()-1+pick(r, 0, 1, 1, 1, 2, 2, 3))
	spec.Logs = max(spec.Logs, spec.Redundancy.LogCopies())
	if spec.Redundancy == ThreeDataHall {
		spec.Zones *= 2
	}
	spec.Coordinators = pick(r, 0, 0, 1, 3, 5)
	spec.ShardBytes = pick[int64](r, 100<<20, 100<<20, 2<<30)
	if r.IntN(3) == 0 {
		spec.Host = func(n int) string { return fmt.Sprintf("fdb-%d.fdb:4500", n) }
	}
	classes := pick(r, []Class{Unset}, []Class{Unset}, []Class{Unset, Unset, Storage}, []Class{Storage, Transaction, Unset, Unset},
		[]Class{Storage, LogClass, Stateless, Unset, Unset, Unset})
	if len(classes) > 1 {
		drawn := make([]Class, spec.Zones*spec.PerZone)
		for i := range drawn {
			drawn[i] = pick(r, classes...)
		}
		if !slices.ContainsFunc(drawn, func(class Class) bool { return class != Stateless }) {
			drawn[0] = Unset // somebody must be a coordinator
		}
		spec.Class = func(n int) Class { return drawn[n] }
	}
	return spec
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// Disturb lets something happen to the cluster, and mostly some time go by.
func (c *Cluster) Disturb(r *rand.Rand) {
	p := pick(r, c.Processes...)
	switch r.IntN(20) {
	case 0, 1:
		c.Kill(p.Instance)
	case 2, 3, 4:
		c.Start(p.Instance)
	case 5:
		if !p.Up {
			c.LoseVolume(p.Instance, fmt.Sprintf("%s/%d", p.Instance, c.next()))
		}
	case 6:
		for _, instance := range c.InZone(p.Zone) {
			c.Kill(instance)
		}
	case 7:
		for _, q := range c.Processes {
			c.Start(q.Instance)
		}
	case 8:
		c.Exclude([]string{p.Address}, false)
	case 9:
		if c.Version.Localities() {
			c.Exclude([]string{pick(r, "locality_instance_id:"+p.Instance, "locality_zoneid:"+p.Zone)}, false)
		}
	case 10:
		c.Include(nil, false, true)
	case 11:
		c.Maintain(p.Zone, time.Duration(r.IntN(600))*time.Second)
	case 12:
		c.moveSeat(r, p)
	case 13:
		c.Reboot(p.Instance)
	case 14:
		c.restrict(r)
	case 15, 16:
		c.rebootDistributor()
		c.Advance(time.Duration(r.IntN(60)) * time.Second)
	case 17:
		p.Messages, p.MessagesAt = []string{pick(r, "io_error", "io_timeout", "file_corrupt")}, c.Now
	case 18, 19:
		c.misname(r, p)
	}
	switch r.IntN(4) {
	case 0:
		c.Advance(0)
	case 1:
		c.Advance(time.Duration(r.IntN(8)) * time.Second)
	default:
		c.Advance(time.Duration(r.IntN(240)) * time.Second)
	}
}

// restrict is what a person does to data distribution, and mostly undoes.
func (c *Cluster) restrict(r *rand.Rand) {
	switch r.IntN(8) {
	case 0, 1:
		c.SetDistribution(false)
	case 2, 3:
		c.IgnoreFailures = true
	case 4:
		c.Distributor.NoRebalance = true
	case 5:
		c.LockUID = hexID("lock", strconv.Itoa(c.next()), "", 32)
	default:
		c.SetDistribution(true)
		c.IgnoreFailures, c.Distributor.NoRebalance, c.LockUID = false, false, ""
	}
	c.still = false
}

// rebootDistributor lets what the data distributor has noticed be forgotten.
func (c *Cluster) rebootDistributor() {
	for _, role := range c.Recovery.Roles {
		if role.Name == distributorRole {
			c.Reboot(role.Process)
		}
	}
}

// misname lets the name of a process lead nowhere, or all of them somewhere again.
func (c *Cluster) misname(r *rand.Rand, p *Process) {
	host, _, _ := strings.Cut(p.Host, ":")
	if c.Unresolved = nil; host != "" && r.IntN(3) > 0 {
		c.Unresolved = []string{host}
	}
	c.still = false
}

// moveSeat puts a coordinator somewhere else.
func (c *Cluster) moveSeat(r *rand.Rand, to *Process) {
	if !c.Accepting() {
		return
	}
	addresses := c.coordinatorAddresses()
	addresses[r.IntN(len(addresses))] = to.Address
	if to.Host != "" && c.Version.Hostnames() {
		addresses[r.IntN(len(addresses))] = to.Host
	}
	if len(distinct(addresses, func(a string) string { return a })) == len(addresses) {
		_ = c.SetCoordinators(addresses, "") // not while the process is unavailable
	}
}
