package mysql

import (
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// External as Options.Failover: another manager owns the topology.
const External = "External"

// SwitchOptions of what acts. The zero value of each is its default.
type SwitchOptions struct {
	// Peers reaches the other members. Nil: there are none.
	Peers engines.Peers
	// Failover is who owns the topology: empty, the agents do; External, another
	// manager, and a switchover waits until it has moved the primary; a URL, the same,
	// and it is told there.
	Failover string
	// MaxLag of a member that may take over. 0: 10 s.
	MaxLag time.Duration
	// Patience is how long writes may be stopped in one try. 0: 30 s.
	Patience time.Duration
	// StopWithin bounds the wait for statements that write, during which new ones wait
	// too. 0: 5 s.
	StopWithin time.Duration
	// LongWrite is the age from which an open transaction that has changed something is
	// waited for before writes are stopped. 0: 1 s.
	LongWrite time.Duration
	// RetryAfter a switchover that failed. 0: 10 s.
	RetryAfter time.Duration
	// Quiet is how long all other agents must be known before a server is made writable
	// that nobody asked to be. 0: 10 s.
	Quiet time.Duration
	// LookTime bounds one look, at the own server or another's. 0: 3 s.
	LookTime time.Duration
}

// Options of an Engine.
type Options struct {
	SwitchOptions
}

func (o Options) withDefaults() Options {
	o.SwitchOptions = o.SwitchOptions.withDefaults()
	return o
}

func (o SwitchOptions) withDefaults() SwitchOptions {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&o.MaxLag, 10 * time.Second}, {&o.Patience, 30 * time.Second}, {&o.StopWithin, 5 * time.Second},
		{&o.LongWrite, time.Second}, {&o.RetryAfter, 10 * time.Second}, {&o.Quiet, 10 * time.Second},
		{&o.LookTime, 3 * time.Second},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return o
}
