package agents

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-dev/rollcall/agent/counters"
	"github.com/rollcall-dev/rollcall/coordinator/agents/wire"
)

// Where else something comes than by a stream. Nothing is held of answers to orders.
const (
	answers    = "answers"
	connection = "connection"
)

// Why else than for its content a message is refused, or a connection ended.
const (
	// reasonMemory: its database holds more than its share already.
	reasonMemory wire.Reason = "memory"
	// reasonSlow: a large message that does not come to its end.
	reasonSlow wire.Reason = "slow"
	// reasonFlood: bytes that belong to no message.
	reasonFlood wire.Reason = "flood"
)

// afterRefusal is how many times the longest pause an agent is not listened to whose
// message was refused.
const afterRefusal = 6

func newRefused() *prometheus.CounterVec {
	return counters.New(nil, prometheus.CounterOpts{
		Name: "rollcall_agent_messages_refused_total",
		Help: "Messages of agents that were not decoded or not kept, and connections that were ended for what they brought.",
	}, []string{"reason"}, append(slices.Clone(wire.Reasons), reasonMemory, reasonSlow, reasonFlood))
}

func newDelayed() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{
		Name: "rollcall_agent_messages_delayed_total",
		Help: "Messages of agents that had to wait, because their stream had brought more than there is to send.",
	})
}

// delay counts a message that waits for its turn.
func (a *Agents) delay(g *agent, stream string) {
	a.delayed.Inc()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !g.delayTold {
		// Once for each pod, as refusals.
		g.delayTold = true
		a.opts.Logger.Warn("an agent sends more messages than there are to send: they wait", "cluster", g.cluster.key.String(), "pod", g.target.Pod, "stream", stream)
	}
}

// refuse counts a message that is not taken. What that agent had reported before is
// dropped: it counts as one that says nothing.
func (a *Agents) refuse(g *agent, stream string, refusal *wire.Refusal) {
	a.mu.Lock()
	a.refuseLocked(g, stream, refusal)
	a.mu.Unlock()
	a.changed(g.cluster.key)
}

// refuseLocked is refuse while mu is held; changed has to be called after.
func (a *Agents) refuseLocked(g *agent, stream string, refusal *wire.Refusal) {
	a.refused.WithLabelValues(string(refusal.Reason)).Inc()
	g.lately.Note("message: "+string(refusal.Reason), g.target.IP)
	if g.refusals == nil {
		g.refusals = map[string]string{}
	}
	g.refusals[stream] = refusal.Error()
	if stream == reports || stream == connection {
		a.release(g.cluster, g.received.Report)
		g.received = Received{}
	}
	if !g.refusalTold {
		// Once for each pod: it may send as many as it likes.
		g.refusalTold = true
		a.opts.Logger.Warn("a message of an agent is refused", "cluster", g.cluster.key.String(), "pod", g.target.Pod, "stream", stream,
			"reason", string(refusal.Reason), "error", refusal.Text)
	}
}

// refusal is why what came by a stream last was refused; empty when it was not.
func (a *Agents) refusal(g *agent, stream string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return cmp.Or(g.refusals[stream], g.refusals[connection])
}

// accepted: a stream has brought what is taken.
func (a *Agents) accepted(g *agent, stream string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(g.refusals, stream)
	delete(g.refusals, connection)
	if stream == reports {
		delete(g.refusals, answers)
	}
}

// refusedText is for people: why nothing is heard of an agent. mu is held.
func (g *agent) refusedText() string {
	return cmp.Or(g.refusals[reports], g.refusals[connection], g.refusals[rosters], g.refusals[answers])
}

// maxProblem bounds what is kept of an error, which may have an agent's words.
const maxProblem = 1 << 10

func cutOff(problem string) string {
	if len(problem) > maxProblem {
		return problem[:maxProblem] + "..."
	}
	return problem
}
