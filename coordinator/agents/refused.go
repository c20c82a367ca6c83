package agents

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-dev/rollcall/agent/counters"
	"github.com/rollcall-dev/rollcall/coordinator/agents/wire"
)

// Sources of messages other than streams. No answers to orders are held.
const (
	answers    = "answers"
	connection = "connection"
)

// Reasons for refusing a message, or ending a connection, other than the content.
const (
	// reasonMemory means that its database holds more than its share already.
	reasonMemory wire.Reason = "memory"
	// reasonSlow means that a large message is not completed in time.
	reasonSlow wire.Reason = "slow"
	// reasonFlood means bytes that belong to no message.
	reasonFlood wire.Reason = "flood"
)

// afterRefusal is how many times the longest pause an agent is ignored after a refused message.
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
		// Once for each pod, like refusals.
		g.delayTold = true
		a.opts.Logger.Warn("an agent sends more messages than there are to send: they wait", "cluster", g.cluster.key.String(), "pod", g.target.Pod, "stream", stream)
	}
}

// refuse counts a message that is not accepted. The agent's earlier report is dropped: the agent
// counts as one that does not report.
func (a *Agents) refuse(g *agent, stream string, refusal *wire.Refusal) {
	a.mu.Lock()
	a.refuseLocked(g, stream, refusal)
	a.mu.Unlock()
	a.changed(g.cluster.key)
}

// refuseLocked is refuse while mu is held. Call changed afterwards.
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
		// Once for each pod, because it may send as many as it likes.
		g.refusalTold = true
		a.opts.Logger.Warn("a message of an agent is refused", "cluster", g.cluster.key.String(), "pod", g.target.Pod, "stream", stream,
			"reason", string(refusal.Reason), "error", refusal.Text)
	}
}

// refusal returns why the last message of a stream was refused. It is empty if it was not.
func (a *Agents) refusal(g *agent, stream string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return cmp.Or(g.refusals[stream], g.refusals[connection])
}

// accepted notes that a stream has delivered an acceptable message.
func (a *Agents) accepted(g *agent, stream string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(g.refusals, stream)
	delete(g.refusals, connection)
	if stream == reports {
		delete(g.refusals, answers)
	}
}

// refusedText says for people why an agent is not heard. mu is held.
func (g *agent) refusedText() string {
	return cmp.Or(g.refusals[reports], g.refusals[connection], g.refusals[rosters], g.refusals[answers])
}

// maxProblem bounds what is kept of an error, which may contain an agent's text.
const maxProblem = 1 << 10

func cutOff(problem string) string {
	if len(problem) > maxProblem {
		return problem[:maxProblem] + "..."
	}
	return problem
}
