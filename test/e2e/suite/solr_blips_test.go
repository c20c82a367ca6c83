package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/load"
	"github.com/rollcall-dev/rollcall/test/e2e/observer"
	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/solrcloud"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

const (
	// paused is longer than a session of Solr with its ZooKeeper, which is 15 s.
	paused = 16500 * time.Millisecond
	// unfetched is how long a follower of type TLOG can lack what was acknowledged: its
	// leader commits after 15 s, and it fetches after half of that.
	unfetched = 25 * time.Second
)

// patientProbe lets a Solr be unheard for longer than its session before its pod is
// no longer Ready.
func patientProbe(set *appsv1.StatefulSet) {
	set.Spec.Template.Spec.Containers[0].ReadinessProbe.FailureThreshold = 6
}

// standstill is when something stood still for longer than sessions last.
type standstill struct{ from, until time.Time }

func (s *standstill) during(act func() error) error {
	s.from = time.Now()
	defer func() { s.until = time.Now() }()
	return act()
}

// excused are documents that Solr itself loses then: engines/solr/DESIGN.md,
// "Acknowledged, and gone".
func (s *standstill) excused(collection string, d load.Doc) bool {
	return solrcloud.HasTLOG(collection) && d.Acked.After(s.from.Add(-unfetched)) && d.Acked.Before(s.until.Add(unfetched))
}

// servers are the pods of the ensemble, and the addresses of their client ports by name.
func (s *solr) servers(t *testing.T) (*testbed.Pods, func() map[string]string) {
	t.Helper()
	pods, err := solrcloud.WatchEnsemble(t.Context(), s.bed)
	require.NoError(t, err)
	return pods, func() map[string]string {
		out := pods.Addresses()
		for name, url := range out {
			out[name] = strings.TrimPrefix(url, "http://")
		}
		return out
	}
}

// observed begins to observe the cloud.
func (s *solr) observed(t *testing.T) *observed {
	t.Helper()
	_, addresses := s.servers(t)
	return observe(t, s.bed, s.cloud.Pods, observer.Solr{
		Pods:       s.cloud.Pods.Addresses,
		ZooKeepers: func() []string { return slices.Collect(maps.Values(addresses())) },
	}.Read)
}

// sessionLost: while one pod is unavailable, the process in another one stands still for longer
// than its session. It is no member for a moment when it goes on, and it has been Ready all the
// time; that is no failure, and nobody else goes before it is back.
func (s *solr) sessionLost(t *testing.T) {
	startsWithin(t, s.bed, solrcloud.Name, startSeconds)
	// Two of them: one may be the first to go.
	for _, pod := range elders(s.cloud.Pods)[:2] {
		require.NoError(t, readyFor(t.Context(), s.bed, s.cloud.Pods, pod, startSeconds*time.Second))
	}
	o := s.observed(t)
	defer o.judged(t)
	var still standstill
	out := measure(t, rehearsal.Rehearsal{
		On:     s.cloud,
		Change: func(ctx context.Context) error { return s.cloud.Touch(ctx, "session-lost") },
		// A copy of type TLOG that has just restarted leads, as the leader's session ends, without what it has not
		// fetched yet; and one that has lost the lead is handed it back before it has fetched.
		Excused: still.excused,
		During: func(ctx context.Context, w *witness.Witness) error {
			if err := restarted(ctx, s.bed, w, 1); err != nil {
				return err
			}
			for _, name := range elders(s.cloud.Pods) {
				for _, pod := range s.cloud.Pods.Witnessed() {
					if pod.Name == name && w.Report().RestartCounts()[name] == 0 {
						return still.during(func() error { return s.pause(ctx, o, pod, paused) })
					}
				}
			}
			return errors.New("no pod is left untouched")
		},
	})
	s.eachOnce(t, out)
}

// pause has the Solr of a pod stand still, until its session is over.
func (s *solr) pause(ctx context.Context, o *observed, victim witness.Pod, d time.Duration) error {
	began := time.Now()
	if _, err := s.bed.Signal(victim.UID, "java", syscall.SIGSTOP); err != nil {
		return err
	}
	s.bed.Logf("%s stands still", victim.Name)
	err := errors.Join(testbed.Pause(ctx, d), s.bed.Eventually(ctx, "the session to be over", 10*time.Second, func(context.Context) error {
		look, _ := o.Newest()
		for shard, copies := range look.Copies {
			if why, has := copies[victim.Name]; has && why == "" {
				return fmt.Errorf("%s serves %s", victim.Name, shard)
			}
		}
		return look.Err
	}))
	_, awake := s.bed.Signal(victim.UID, "java", syscall.SIGCONT)
	s.bed.Logf("%s goes on after %s", victim.Name, time.Since(began).Round(100*time.Millisecond))
	for _, pod := range s.cloud.Pods.All() {
		if string(pod.UID) == victim.UID && !testbed.Ready(pod) {
			err = errors.Join(err, fmt.Errorf("%s is not Ready: the probe was not patient", victim.Name))
		}
	}
	return errors.Join(err, awake)
}

// eachOnce: every pod restarts, and once.
func (s *solr) eachOnce(t *testing.T, out rehearsal.Outcome) {
	t.Helper()
	require.Len(t, out.Witness.RestartCounts(), solrPods(), "every pod restarts")
	require.Empty(t, out.Witness.Again(), "once")
}

// zookeeperRestarted: in the middle of one rollout the servers of the ensemble are
// restarted one by one; then all at once; then they stand still until every session
// of every Solr is over, so that for some seconds nobody is a member.
func (s *solr) zookeeperRestarted(t *testing.T) {
	startsWithin(t, s.bed, solrcloud.Name, startSeconds)
	o := s.observed(t)
	defer o.judged(t)
	var still standstill
	out := unseen(t, rehearsal.Rehearsal{
		On:     s.cloud,
		Change: func(ctx context.Context) error { return s.cloud.Touch(ctx, "zookeeper-restarted") },
		// Where all sessions end, a follower of type TLOG can lead without what it has not
		// fetched yet.
		Excused: still.excused,
		During: func(ctx context.Context, w *witness.Witness) error {
			pausedTogether := func(ctx context.Context) error {
				return still.during(func() error { return s.zookeepersPaused(ctx) })
			}
			for n, trouble := range []func(ctx context.Context) error{s.zookeepersOneByOne, s.zookeepersAtOnce, pausedTogether} {
				if err := restarted(ctx, s.bed, w, 1+n); err != nil {
					return err
				}
				if err := trouble(ctx); err != nil {
					return err
				}
			}
			return nil
		},
	})
	s.eachOnce(t, out)
}

// ensemble are the pods of the ensemble, by name.
func (s *solr) ensemble(ctx context.Context) (uids map[string]string, err error) {
	list, err := s.bed.Kube.CoreV1().Pods(solrcloud.Namespace).List(ctx, metav1.ListOptions{LabelSelector: solrcloud.EnsemblePods})
	if err != nil {
		return nil, err
	}
	uids = map[string]string{}
	for _, pod := range list.Items {
		uids[pod.Name] = string(pod.UID)
	}
	return uids, nil
}

func (s *solr) zookeepersOneByOne(ctx context.Context) error {
	uids, err := s.ensemble(ctx)
	if err != nil {
		return err
	}
	for name := range uids {
		if err := s.renewed(ctx, name); err != nil {
			return err
		}
		// It joins the quorum.
		if err := testbed.Pause(ctx, 5*time.Second); err != nil {
			return err
		}
	}
	return nil
}

func (s *solr) zookeepersAtOnce(ctx context.Context) error {
	uids, err := s.ensemble(ctx)
	if err != nil {
		return err
	}
	var names []string
	for name := range uids {
		names = append(names, name)
	}
	return s.renewed(ctx, names...)
}

// renewed deletes pods of the ensemble, and waits until others are Ready in their place.
func (s *solr) renewed(ctx context.Context, names ...string) error {
	before, err := s.ensemble(ctx)
	if err != nil {
		return err
	}
	s.bed.Logf("restarts %s", strings.Join(names, ", "))
	if _, err := s.bed.Kubectl(ctx, "", append([]string{"delete", "pod", "-n", solrcloud.Namespace, "--wait=false"}, names...)...); err != nil {
		return err
	}
	return s.bed.Eventually(ctx, strings.Join(names, ", ")+" to be back", 2*time.Minute, func(ctx context.Context) error {
		list, err := s.bed.Kube.CoreV1().Pods(solrcloud.Namespace).List(ctx, metav1.ListOptions{LabelSelector: solrcloud.EnsemblePods})
		if err != nil {
			return err
		}
		back := 0
		for i := range list.Items {
			if pod := &list.Items[i]; slices.Contains(names, pod.Name) && string(pod.UID) != before[pod.Name] && testbed.Ready(pod) {
				back++
			}
		}
		if back < len(names) {
			return fmt.Errorf("%d of %d are", back, len(names))
		}
		return nil
	})
}

// zookeepersPaused: when they go on, time has gone on without them.
func (s *solr) zookeepersPaused(ctx context.Context) error {
	uids, err := s.ensemble(ctx)
	if err != nil {
		return err
	}
	s.bed.Logf("the ensemble stands still")
	for _, uid := range uids {
		_, e := s.bed.Signal(uid, "java", syscall.SIGSTOP)
		err = errors.Join(err, e)
	}
	err = errors.Join(err, testbed.Pause(ctx, paused+2*time.Second))
	for _, uid := range uids {
		_, e := s.bed.Signal(uid, "java", syscall.SIGCONT)
		err = errors.Join(err, e)
	}
	s.bed.Logf("the ensemble goes on")
	return err
}

// downBefore: one replica has been down since before the rollout, and nothing but a
// restart of its pod brings it back. That pod goes, which takes nothing away, the
// replica is back, and all others go.
func (s *solr) downBefore(t *testing.T) {
	pod, shard := s.replicaDown(t)
	o := s.observed(t)
	defer o.judged(t)
	out := roll(t, rehearsal.Rehearsal{On: s.cloud, Change: func(ctx context.Context) error { return s.cloud.Touch(ctx, "down-before") }})
	s.eachOnce(t, out)
	t.Logf("%s of %s was down: it went as number %d of %d", shard, pod, 1+slices.IndexFunc(out.Witness.Restarts, func(x witness.Restart) bool { return x.Pod == pod }), len(out.Witness.Restarts))
}

// replicaDown starts a Solr without one of its cores, and then gives it the core
// back, which it finds at its next start.
func (s *solr) replicaDown(t *testing.T) (pod, shard string) {
	t.Helper()
	ctx := t.Context()
	state, err := witness.ReadSolr(ctx, s.cloud.Pods.URLs()[0])
	require.NoError(t, err)
	shard = "books/shard1"
	pod = state.Shards[shard].On[0]
	hide := "cd /data/home && for f in books_shard1_*/core.properties; do mv $f $f.hidden; done"
	exec := func(command string) {
		t.Helper()
		_, err := s.bed.Kubectl(ctx, "", "exec", pod, "-n", solrcloud.Namespace, "-c", solrcloud.Container, "--", "/bin/sh", "-c", command)
		require.NoError(t, err)
	}
	exec(hide)
	for _, p := range s.cloud.Pods.Witnessed() {
		if p.Name == pod {
			_, err := s.bed.Kill(p.UID, "java")
			require.NoError(t, err)
		}
	}
	require.NoError(t, s.bed.Eventually(ctx, "nothing but "+shard+" on "+pod+" to be unavailable", 2*time.Minute, func(ctx context.Context) error {
		if n := len(s.cloud.Pods.URLs()); n < solrPods() {
			return fmt.Errorf("%d pods are Ready", n)
		}
		state, err := witness.ReadSolr(ctx, s.cloud.Pods.URLs()[0])
		if err != nil {
			return err
		}
		if state.Shards[shard].Away != 1 || len(state.Live) < solrPods() {
			return fmt.Errorf("%+v of %v", state.Shards[shard], state.Live)
		}
		delete(state.Shards, shard)
		if !state.AllActive() {
			return errors.New(state.Missing())
		}
		return nil
	}))
	exec("cd /data/home && for f in books_shard1_*/core.properties.hidden; do mv $f ${f%.hidden}; done")
	return pod, shard
}
