package suite

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/test/e2e/observer"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlpod"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// closedFor is how long a server refuses connections.
const closedFor = 3 * time.Second

// connectionsRefused: in the middle of one rollout a replica refuses every connection for seconds,
// that of its own agent as well, while the other one is unavailable; then the primary does, just
// after the other one has come back.
func (s *sqlTest) connectionsRefused(t *testing.T) {
	s.strategy(t, "null", sqlcluster.OnDelete)
	startsWithin(t, s.bed, s.flavor.Name, startSeconds)
	for _, pod := range s.cluster.Pods.All() {
		if err := readyFor(t.Context(), s.bed, s.cluster.Pods, pod.Name, startSeconds*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	pools := &sqlpod.Pools{Login: sqlcluster.Witness}
	defer pools.Close()
	var names []string
	for _, pod := range s.cluster.Pods.All() {
		names = append(names, pod.Name)
	}
	o := observe(t, s.bed, s.cluster.Pods, observer.SQL{Servers: s.cluster.Servers, Names: names, Pools: pools}.Read)
	defer o.judged(t)
	r := s.touch("connections-refused")
	r.During = func(ctx context.Context, w *witness.Witness) error {
		if err := restarted(ctx, s.bed, w, 1); err != nil {
			return err
		}
		primary, replicas, err := s.replicas(ctx)
		if err != nil {
			return err
		}
		for _, pod := range replicas {
			if w.Report().RestartCounts()[pod] == 0 {
				if err := s.refuses(ctx, w, pod); err != nil {
					return err
				}
			}
		}
		if err := restarted(ctx, s.bed, w, 2); err != nil {
			return err
		}
		return s.refuses(ctx, w, primary)
	}
	out := s.measure(t, "Rollcall, connections refused for 3 s", 1, r)
	s.eachOnce(t, out)
}

// refuses has a rule in the pod's own network refuse what is sent to the server, by
// whomever, also on connections that stand.
func (s *sqlTest) refuses(ctx context.Context, w *witness.Witness, name string) error {
	pod := s.cluster.Pod(name)
	w.Hurt(string(pod.UID)) // it may be found not Ready
	pid, err := s.bed.Process(string(pod.UID), s.flavor.Process)
	if err != nil {
		return err
	}
	rule := func(verb string) error {
		out, err := exec.CommandContext(context.WithoutCancel(ctx), "nsenter", "--net", "--target", strconv.Itoa(pid), "iptables", verb, "INPUT",
			"--protocol", "tcp", "--destination-port", strconv.Itoa(sqlcluster.Port), "--jump", "REJECT", "--reject-with", "tcp-reset").CombinedOutput()
		if err != nil {
			return fmt.Errorf("iptables %s in %s: %w: %s", verb, name, err, out)
		}
		return nil
	}
	if err := rule("--insert"); err != nil {
		return err
	}
	s.bed.Logf("%s refuses connections", name)
	err = testbed.Pause(ctx, closedFor)
	if e := rule("--delete"); e != nil {
		return e
	}
	s.bed.Logf("%s takes connections", name)
	return err
}
