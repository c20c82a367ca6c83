package agents

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/agents/wire"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Options are the options of Agents. The zero value of a duration or size means its default.
type Options struct {
	// TLS returns the coordinator's client certificate and the authorities of the agents. It is
	// called at every handshake. Required unless Plaintext.
	TLS func() (*tls.Config, error)
	// Plaintext is for development only.
	Plaintext bool
	// Port of the agents' gRPC service. Default: config.PortGRPC.
	Port int
	// Witnesses is how many rosters are followed per cluster while its reports are, and
	// IdleWitnesses while they are not: then nothing is decided by them, and one more is followed
	// in case one fails. Default: 3 and 2.
	Witnesses, IdleWitnesses int
	// Silence is how long a stream may be without a message before it is restarted. Agents send one
	// every 5 s at least. Default: 15 s.
	Silence time.Duration
	// BackoffMin and BackoffMax bound the pause before a stream is restarted. Default: 200 ms and 5
	// s.
	BackoffMin, BackoffMax time.Duration
	// CallTimeout bounds a call whose context has no earlier deadline. Default: 10 s.
	CallTimeout time.Duration
	// MaxMessage bounds one message, in bytes. Default: wire.MaxReport, the largest that is
	// accepted.
	MaxMessage int
	// MaxHeld is how many bytes of memory the messages of all agents may take, see Agents.mayHold.
	// Default: 32 MiB, which is enough for 40,000 shards of two copies, however many of their
	// members report them. The previous pass, its snapshot and what is derived from it take as much
	// again each, and all together are half of what the chart gives a coordinator.
	MaxHeld int
	// Dial replaces the network in tests.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Connect replaces gRPC in tests. It dials nothing; the client's calls do.
	Connect func(key Key, to Target) (rollcallv1.AgentServiceClient, io.Closer, error)
	// Jitter returns a pause of at most twice the given one. Default: a random pause of at least
	// half of it.
	Jitter func(pause time.Duration) time.Duration
	// Registerer gets rollcall_report_age_seconds, rollcall_agent_clock_skew_seconds and
	// rollcall_agent_messages_refused_total. It is nil for no metrics.
	Registerer prometheus.Registerer
	// Logger defaults to slog.Default().
	Logger *slog.Logger
}

func (o *Options) validate() error {
	if o.TLS == nil && !o.Plaintext && o.Connect == nil {
		return errors.New("agents: TLS is required (Plaintext is for development only)")
	}
	if o.TLS != nil && o.Plaintext {
		return errors.New("agents: TLS and Plaintext exclude each other")
	}
	o.Port = cmp.Or(o.Port, config.PortGRPC)
	o.Witnesses = cmp.Or(o.Witnesses, 3)
	o.IdleWitnesses = cmp.Or(o.IdleWitnesses, min(2, o.Witnesses))
	o.Silence = cmp.Or(o.Silence, 15*time.Second)
	o.BackoffMin = cmp.Or(o.BackoffMin, 200*time.Millisecond)
	o.BackoffMax = cmp.Or(o.BackoffMax, 5*time.Second)
	o.CallTimeout = cmp.Or(o.CallTimeout, 10*time.Second)
	o.MaxMessage = cmp.Or(o.MaxMessage, wire.MaxReport)
	o.MaxHeld = cmp.Or(o.MaxHeld, 32<<20)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Jitter == nil {
		o.Jitter = func(pause time.Duration) time.Duration { return pause/2 + rand.N(pause) }
	}
	if o.Dial == nil {
		// The kernel notices a vanished peer within 20 s.
		dialer := net.Dialer{Control: giveUp, KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3,
		}}
		o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", address)
		}
	}
	return nil
}
