package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rollcall-dev/rollcall/test/e2e/audit"
)

const (
	// plainPods is the StatefulSet beside which no Rollcall stands.
	plainPods = 10
	plain     = "plain"

	controller = "system:serviceaccount:kube-system:statefulset-controller"
)

// plain makes a StatefulSet that Kubernetes rolls by itself, for comparison.
func (s *stage) plain(ctx context.Context) error {
	labels := map[string]string{"app": plain}
	err := s.world.set(ctx, "default", plain, plainPods, labels, nil, appsv1.RollingUpdateStatefulSetStrategyType, appsv1.ParallelPodManagement)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// leader is the coordinator that leads, or -1.
func (s *stage) leader(ctx context.Context) int {
	for i, p := range s.both {
		if p == nil {
			continue
		}
		if is, err := p.metric(ctx, "rollcall_leader", ""); err == nil && is == 1 {
			return i
		}
	}
	return -1
}

// resting is how many rosters are followed of a database that rests.
const resting = 2

// quiet waits until nothing is left to do: only the rosters are followed, and nothing is written.
func (s *stage) quiet(ctx context.Context) error {
	since, written := time.Now(), 0.0
	return until(ctx, 20*time.Minute, "the coordinators rest", func() bool {
		time.Sleep(time.Second) // to ask is work for them
		leader := s.leader(ctx)
		if n := s.world.agents.streams.Load(); n == 0 || n > int64(resting*s.clusters) || leader < 0 {
			since = time.Now()
			return false
		}
		if n, err := s.both[leader].metric(ctx, "rollcall_api_writes_total", ""); err != nil || n != written {
			since, written = time.Now(), n // budgets are made and guards are closed yet
		}
		return time.Since(since) > 30*time.Second // and what the work had needed was given back
	})
}

// resting measures coordinators that have nothing to do.
func (s *stage) resting(ctx context.Context) error {
	say("waiting until the coordinators rest")
	if err := s.quiet(ctx); err != nil {
		return err
	}
	leader := s.leader(ctx)
	if leader < 0 {
		return errors.New("nobody leads")
	}
	var from, to [2]usage
	began := time.Now()
	for i, p := range s.both {
		var err error
		if from[i], err = p.usage(); err != nil {
			return err
		}
	}
	highest := 0
	for time.Since(began) < s.idle {
		for i, p := range s.both {
			var err error
			if to[i], err = p.usage(); err != nil {
				return err
			}
		}
		highest = max(highest, to[leader].resident)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Second):
		}
	}
	list, err := requests(s.logs, user, began, time.Now())
	if err != nil {
		return err
	}
	size := fmt.Sprintf("%d x %d", s.clusters, s.size)
	s.table.gate("leader of "+size+" at rest, resident (the most in "+s.idle.String()+")", "<= 120 MiB", mib(highest), highest <= 120<<10)
	s.table.add("the same, peak since its start", "", mib(to[leader].peak))
	s.table.add("standby, resident", "", mib(to[1-leader].resident))
	s.table.add("leader at rest, CPU", "", spent(from[leader], to[leader]))
	s.table.add("standby, CPU", "", spent(from[1-leader], to[1-leader]))
	s.table.gate("LISTs of both in "+s.idle.String(), "0", fmt.Sprint(lists(list)), lists(list) == 0)
	s.table.add("all requests of both in that time", "", kinds(list))
	if s.world.bare.Load() > 0 {
		s.table.add("pods that the webhook missed while all were made, and that were made again", "", fmt.Sprint(s.world.bare.Load()))
	}
	return nil
}

// roll changes clusters [from, to) and waits until all their pods run what was asked for.
func (s *stage) roll(ctx context.Context, from, to int, meanwhile func(context.Context) error) (time.Duration, error) {
	began := time.Now()
	want := map[string]string{}
	for i := from; i < to; i++ {
		if err := s.world.change(ctx, namespaceOf(i), db); err != nil {
			return 0, err
		}
	}
	for i := from; i < to; i++ {
		revision, err := s.world.revision(ctx, namespaceOf(i), db)
		if err != nil {
			return 0, err
		}
		want[namespaceOf(i)] = revision
	}
	if meanwhile != nil {
		if err := meanwhile(ctx); err != nil {
			return 0, err
		}
	}
	said := time.Now()
	err := until(ctx, 30*time.Minute, "all pods run the new revision", func() bool {
		done := 0
		for namespace, revision := range want {
			done += s.world.updated(namespace, db, revision)
		}
		if time.Since(said) > 20*time.Second {
			said = time.Now()
			say("%d of %d pods are updated", done, (to-from)*s.size)
			if leader := s.leader(ctx); leader >= 0 {
				if u, err := s.both[leader].usage(); err == nil {
					say("leader: %s resident; %d streams", mib(u.resident), s.world.agents.streams.Load())
				}
			}
		}
		return done == (to-from)*s.size
	})
	return time.Since(began), err
}

// rolling measures a change that rolls through some clusters at once, beside the same by Kubernetes alone.
func (s *stage) rolling(ctx context.Context) error {
	leader := s.leader(ctx)
	before, err := s.both[leader].usage()
	if err != nil {
		return err
	}
	if err := s.both[leader].forgetPeak(); err != nil {
		return err
	}
	began := time.Now()
	alone := make(chan error, 1)
	go func() { alone <- s.alone(ctx, began) }()
	took, err := s.roll(ctx, 0, s.some(), nil)
	if err != nil {
		return err
	}
	after, err := s.both[leader].usage()
	if err != nil {
		return err
	}
	if err := <-alone; err != nil {
		return err
	}
	if err := s.quiet(ctx); err != nil { // the last claims are released, and what was done for them is over
		return err
	}
	rested, err := s.both[leader].usage()
	if err != nil {
		return err
	}
	list, err := requests(s.logs, user, began, time.Now())
	if err != nil {
		return err
	}
	restarts := s.some() * s.size
	what := fmt.Sprintf("a change through %d clusters of %d at once", s.some(), s.size)
	s.table.add(what+": until the last pod was ready", "", took.Round(time.Second).String())
	each := float64(writes(list)) / float64(restarts)
	s.table.gate(what+": API writes per restart", "<= 5 (and 3 per rollout)", fmt.Sprintf("%.2f", each), each <= 5+3/float64(s.size)+0.05)
	s.table.add(what+": LISTs", "", fmt.Sprint(lists(list)))
	s.table.add(what+": requests", "", kinds(list))
	s.table.add(what+": peak of the leader", "", mib(after.peak))
	s.table.add(what+": CPU of the leader", "", spent(before, after))
	s.table.add("the leader at rest again", "", mib(rested.resident))
	s.table.add("agent's word that it is drained, until its pod's removal arrives at the API server", "", spread(s.latencies(removals(list))))
	return nil
}

func (s *stage) some() int { return min(s.part, s.clusters) }

// latencies are the times from each agent's report that its pod is drained to the arrival of the
// removal.
func (s *stage) latencies(removed map[string]time.Time) (all []time.Duration) {
	for i := range s.clusters {
		d := s.world.agents.database(namespaceOf(i))
		d.mu.Lock()
		for pod, at := range d.prepared {
			if gone, ok := removed[namespaceOf(i)+"/"+pod]; ok && gone.After(at) {
				all = append(all, gone.Sub(at))
			}
		}
		d.mu.Unlock()
	}
	return all
}

// alone is the same change by Kubernetes alone.
func (s *stage) alone(ctx context.Context, began time.Time) error {
	if err := s.world.change(ctx, "default", plain); err != nil {
		return err
	}
	revision, err := s.world.revision(ctx, "default", plain)
	if err != nil {
		return err
	}
	err = until(ctx, 20*time.Minute, "Kubernetes has rolled "+plain, func() bool { return s.world.updated("default", plain, revision) == plainPods })
	if err != nil {
		return err
	}
	took := time.Since(began)
	time.Sleep(2 * time.Second)
	list, err := requests(s.logs, controller, began, time.Now())
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(r audit.Request) bool { return r.Object.Namespace != "default" })
	s.table.add(fmt.Sprintf("beside it Kubernetes alone: %d pods, one at a time", plainPods), "", fmt.Sprintf("%s, %s a pod; its controller writes %.1f times per restart",
		took.Round(time.Second), (took/plainPods).Round(100*time.Millisecond), float64(writes(list))/plainPods))
	return nil
}

// handovers measures how soon another coordinator goes on, after one was stopped and after one was killed in mid-rollout.
func (s *stage) handovers(ctx context.Context) error {
	first := s.some()
	last := min(s.clusters, 2*s.some())
	if last <= first {
		first = 0
	}
	_, err := s.roll(ctx, first, last, func(ctx context.Context) error {
		for _, way := range []struct {
			name   string
			signal syscall.Signal
			bar    time.Duration
		}{{"graceful", syscall.SIGTERM, 6 * time.Second}, {"crash", syscall.SIGKILL, 26 * time.Second}} {
			time.Sleep(15 * time.Second) // in the middle of it
			if err := s.handover(ctx, way.name, way.signal, way.bar); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

func (s *stage) handover(ctx context.Context, name string, signal syscall.Signal, bar time.Duration) error {
	leader := s.leader(ctx)
	if leader < 0 {
		return errors.New("nobody leads")
	}
	other := s.both[1-leader]
	decisions, err := other.metric(ctx, "rollcall_decisions_total", "")
	if err != nil {
		return err
	}
	goes, err := other.metric(ctx, "rollcall_decisions_total", `verdict="go"`)
	if err != nil {
		return err
	}
	began := time.Now()
	go s.both[leader].signal(signal)
	var leads, decides time.Duration
	err = until(ctx, 2*time.Minute, "the other coordinator lets somebody go", func() bool {
		if is, err := other.metric(ctx, "rollcall_leader", ""); err != nil || is == 0 {
			return false
		}
		if leads == 0 {
			leads = time.Since(began)
		}
		if n, err := other.metric(ctx, "rollcall_decisions_total", ""); err == nil && n > decisions && decides == 0 {
			decides = time.Since(began)
		}
		n, err := other.metric(ctx, "rollcall_decisions_total", `verdict="go"`)
		return err == nil && n > goes
	})
	if err != nil {
		return err
	}
	lets := time.Since(began)
	s.table.gate("failover in mid-rollout, "+name+": until the first decision", "<= "+bar.String(), fmt.Sprintf("%.1f s", decides.Seconds()), decides <= bar)
	s.table.add("the same: another leads / somebody may go", "", fmt.Sprintf("%.1f s / %.1f s", leads.Seconds(), lets.Seconds()))
	<-s.both[leader].ended
	return s.coordinator(leader)
}

// rollingAll measures a change of everything at once, when that was asked for.
func (s *stage) rollingAll(ctx context.Context) error {
	if !s.all {
		return nil
	}
	leader := s.leader(ctx)
	if err := s.both[leader].forgetPeak(); err != nil {
		return err
	}
	began := time.Now()
	took, err := s.roll(ctx, 0, s.clusters, nil)
	if err != nil {
		return err
	}
	if err := s.quiet(ctx); err != nil {
		return err
	}
	after, err := s.both[leader].usage()
	if err != nil {
		return err
	}
	list, err := requests(s.logs, user, began, time.Now())
	if err != nil {
		return err
	}
	what := fmt.Sprintf("a change through all %d clusters at once", s.clusters)
	s.table.add(what+": until the last pod was ready", "", took.Round(time.Second).String())
	s.table.add(what+": API writes per restart", "", fmt.Sprintf("%.2f", float64(writes(list))/float64(s.clusters*s.size)))
	s.table.add(what+": peak of the leader, and a minute later", "", mib(after.peak)+", "+mib(after.resident))
	return nil
}
