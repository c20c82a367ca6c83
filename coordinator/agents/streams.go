package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/rollcall-dev/rollcall/coordinator/agents/wire"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// ErrWrongPod means that another pod answered at the address of the requested one.
var ErrWrongPod = errors.New("another pod answered")

// Names of the streams of one agent.
const (
	reports = "reports"
	rosters = "rosters"
)

// followReports keeps a report stream open until ctx ends. It calls handed when it has the
// connection.
func (a *Agents) followReports(ctx context.Context, g *agent, allGroups bool, handed func()) {
	a.keep(ctx, g, reports, func(ctx context.Context, alive func()) error {
		client, done, err := a.borrow(g)
		handed()
		if err != nil {
			return err
		}
		defer done()
		a.mu.Lock()
		asked := g.heard.incarnation
		a.mu.Unlock()
		open := func(ctx context.Context) (grpc.ServerStreamingClient[rollcallv1.Report], error) {
			return client.WatchReport(ctx, &rollcallv1.WatchReportRequest{AllGroups: allGroups})
		}
		defer a.endedHere(ctx, g)
		return listen(ctx, a, g, "report", open, func(report *rollcallv1.Report) error {
			at := a.dated(g, report, time.Now())
			if err := a.take(ctx, g, Received{Report: report, At: at}, asked); err != nil {
				return err
			}
			alive()
			return nil
		})
	})
}

// followRoster keeps a roster stream open until ctx ends.
func (a *Agents) followRoster(ctx context.Context, g *agent) {
	a.keep(ctx, g, rosters, func(ctx context.Context, alive func()) error {
		err := a.streamRoster(ctx, g, alive)
		if ctx.Err() == nil {
			// Another agent may be better.
			a.mu.Lock()
			a.release(g.cluster, g.roster.Roster)
			g.rosterFailed, g.roster = time.Now(), ReceivedRoster{}
			if a.clusters[g.cluster.key] == g.cluster {
				a.hold(g.cluster)
			}
			a.mu.Unlock()
		}
		return err
	})
}

func (a *Agents) streamRoster(ctx context.Context, g *agent, alive func()) error {
	client, done, err := a.borrow(g)
	if err != nil {
		return err
	}
	defer done()
	open := func(ctx context.Context) (grpc.ServerStreamingClient[rollcallv1.Roster], error) {
		return client.WatchRoster(ctx, &rollcallv1.WatchRosterRequest{})
	}
	defer a.endedHere(ctx, g)
	return listen(ctx, a, g, "roster", open, func(roster *rollcallv1.Roster) error {
		if err := a.isMeant(g, roster.GetIdentity()); err != nil {
			return err
		}
		a.mu.Lock()
		news := !sameRoster(g.roster.Roster, roster)
		if ctx.Err() == nil {
			g.cluster.shareEntries(roster)
			former := g.roster.Roster
			g.roster = ReceivedRoster{}
			if refusal := a.replace(g.cluster, former, roster); refusal != nil {
				a.refuseLocked(g, rosters, refusal)
				a.mu.Unlock()
				return refusal
			}
			g.roster = ReceivedRoster{Pod: g.target.Pod, UID: g.target.UID, Roster: roster, At: time.Now()}
			g.rosterFailed = time.Time{}
		}
		a.mu.Unlock()
		alive()
		if news {
			a.changed(g.cluster.key)
		}
		return nil
	})
}

// listen receives the messages of a stream until it ends, or has delivered none for the maximum
// silence: the kernel of a hanging agent still answers for it.
func listen[Message any](ctx context.Context, a *Agents, g *agent, what string,
	open func(context.Context) (grpc.ServerStreamingClient[Message], error), take func(*Message) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stream, err := open(ctx)
	if err != nil {
		return err
	}
	silence, messages := a.opts.Silence, newMessages()
	var heard atomic.Pointer[time.Time]
	note := func() { now := time.Now(); heard.Store(&now) }
	note()
	var timer *time.Timer
	begun := make(chan struct{})
	timer = time.AfterFunc(silence, func() {
		<-begun
		last := *heard.Load()
		if quiet := a.quietSince(g); quiet.After(last) { // while it waits for its turn, nothing is read from it
			last = quiet
		}
		if left := silence - time.Since(last); left > 0 {
			timer.Reset(left)
			return
		}
		cancel(fmt.Errorf("no %s for %s", what, silence))
	})
	close(begun)
	defer timer.Stop()
	for {
		message, err := stream.Recv()
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
		}
		if err := take(message); err != nil {
			return err
		}
		// An agent that sends more than necessary has to wait.
		if a.opts.Connect == nil && !messages.Allow() {
			a.delay(g, what)
			if messages.Wait(ctx) != nil {
				return context.Cause(ctx)
			}
		}
		note()
	}
}

// quietSince returns until when an agent could say nothing.
func (a *Agents) quietSince(g *agent) time.Time {
	a.mu.Lock()
	m := g.conn.meter
	a.mu.Unlock()
	if m == nil {
		return time.Time{}
	}
	return m.quietSince()
}

// endedHere is called when a stream has ended.
func (a *Agents) endedHere(ctx context.Context, g *agent) {
	if ctx.Err() != nil {
		a.forgive(g)
	}
}

// sameRoster reports whether two rosters of one agent differ only in counters and in what reports
// contain, too.
func sameRoster(a, b *rollcallv1.Roster) bool {
	return a != nil && a.GetSynced() == b.GetSynced() && slices.EqualFunc(a.GetEntries(), b.GetEntries(), sameEntry)
}

func sameEntry(a, b *rollcallv1.RosterEntry) bool {
	return a.GetLiveness() == b.GetLiveness() && sameNews(a.GetHeadline(), b.GetHeadline())
}

// sameNews reports whether two headlines differ only in that.
func sameNews(x, y *rollcallv1.Headline) bool {
	return x.GetPodUid() == y.GetPodUid() && x.GetIncarnation() == y.GetIncarnation() &&
		x.GetPod() == y.GetPod() && x.GetMember() == y.GetMember() && x.GetVerdict() == y.GetVerdict() && x.GetNode() == y.GetNode() &&
		x.GetAddress() == y.GetAddress() && x.GetZone() == y.GetZone() && x.GetEpoch() == y.GetEpoch() && x.GetPhase() == y.GetPhase() &&
		x.GetDrain() == y.GetDrain() && slices.Equal(x.GetRoles(), y.GetRoles())
}

// keep runs stream again and again until ctx ends, with a growing pause between failures. stream
// calls alive whenever it has received something.
func (a *Agents) keep(ctx context.Context, g *agent, what string, stream func(ctx context.Context, alive func()) error) {
	log := a.opts.Logger.With("cluster", g.cluster.key.String(), "pod", g.target.Pod, "stream", what)
	pause := a.opts.BackoffMin
	for {
		err := stream(ctx, func() {
			pause = a.opts.BackoffMin
			a.accepted(g, what)
			if a.setProblem(ctx, g, what, "") {
				log.Debug("agent answers")
			}
		})
		if ctx.Err() != nil {
			return
		}
		problem := cutOff(err.Error())
		if strings.Contains(problem, "received message larger than max") { // gRPC has not even read it
			a.refuse(g, what, &wire.Refusal{Reason: wire.Size, Text: problem})
		}
		refused := a.refusal(g, what)
		if refused != "" { // it was logged
			problem, pause = refused, afterRefusal*a.opts.BackoffMax
		}
		if a.setProblem(ctx, g, what, problem) {
			if refused == "" {
				log.Info("agent does not answer", "error", problem)
			}
			a.changed(g.cluster.key)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(a.opts.Jitter(pause)):
		}
		pause = min(2*pause, a.opts.BackoffMax)
	}
}

// setProblem sets the problem of a stream, and reports whether that went from good to bad, or back.
func (a *Agents) setProblem(ctx context.Context, g *agent, stream, problem string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, had := g.problems[stream]
	if ctx.Err() != nil || problem == "" {
		delete(g.problems, stream)
		return had
	}
	if g.problems == nil {
		g.problems = map[string]string{}
	}
	g.problems[stream] = problem
	return !had
}

// dated returns when the observation of a report began that has just arrived. It notes what the
// agent's clocks say.
func (a *Agents) dated(g *agent, r *rollcallv1.Report, arrived time.Time) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.GetIdentity().GetPodUid() != g.target.UID {
		return time.Time{} // take refuses it
	}
	if g.compare(r, arrived) {
		a.opts.Logger.Warn("clocks differ", "cluster", g.cluster.key.String(), "pod", g.target.Pod, "ahead", g.told().String())
	}
	return began(&g.clock, r, arrived)
}

// take keeps a report if it is the pod's own and the newest. See heard for asked.
func (a *Agents) take(ctx context.Context, g *agent, r Received, asked uint64) error {
	if err := a.isMeant(g, r.Report.GetIdentity()); err != nil {
		return err
	}
	a.mu.Lock()
	if is := markOf(r.Report); ctx.Err() == nil && g.cluster.agents[g.target.UID] == g && (g.heard.later(is, asked) || g.heard.mark == is && (g.received.Report == nil || r.At.After(g.received.At))) {
		g.cluster.share(r.Report)
		former := g.received.Report
		g.received = Received{}
		if refusal := a.replace(g.cluster, former, r.Report); refusal != nil {
			a.refuseLocked(g, reports, refusal)
			a.mu.Unlock()
			a.changed(g.cluster.key)
			return refusal
		}
		g.received = r
		g.heard.advance(is)
	}
	a.mu.Unlock()
	a.changed(g.cluster.key)
	return nil
}

// isMeant refuses a message from another pod than the requested one. Addresses of pods are reused,
// also by other clusters.
func (a *Agents) isMeant(g *agent, who *rollcallv1.Identity) error {
	key := g.cluster.key
	a.mu.Lock()
	meant, clusterUID := g.target, g.cluster.following.ClusterUID
	a.mu.Unlock()
	switch {
	case who.GetPodUid() != meant.UID:
		return fmt.Errorf("%w: %q (uid %q) instead of %q (uid %q)", ErrWrongPod, who.GetPod(), who.GetPodUid(), meant.Pod, meant.UID)
	case who.GetPod() != meant.Pod || who.GetNamespace() != key.Namespace || who.GetCluster() != key.Name:
		return fmt.Errorf("%w: it says it is pod %q of cluster %s/%s", ErrWrongPod, who.GetPod(), who.GetNamespace(), who.GetCluster())
	case clusterUID != "" && who.GetClusterUid() != "" && who.GetClusterUid() != clusterUID:
		return fmt.Errorf("%w: its cluster has uid %q instead of %q", ErrWrongPod, who.GetClusterUid(), clusterUID)
	}
	return nil
}
