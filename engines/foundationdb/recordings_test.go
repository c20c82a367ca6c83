package foundationdb

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/engines"
)

// Documents and texts of a real FoundationDB 7.1.68, which are not part of the repository.
const (
	envRecordings         = "ROLLCALL_FDB_RECORDINGS"
	envRecordingsRequired = "ROLLCALL_FDB_RECORDINGS_REQUIRED"
	besideTheRepository   = "../../../shared/foundationdb"
)

// recordings is the folder of them. A test that has none says so loudly.
func recordings(t testing.TB) string {
	dir := cmp.Or(os.Getenv(envRecordings), besideTheRepository)
	if _, err := os.Stat(filepath.Join(dir, "status-01-healthy.json")); err != nil {
		why := fmt.Sprintf("NOT HELD AGAINST A REAL FOUNDATIONDB: %s names no recordings, and there are none in %s", envRecordings, dir)
		if os.Getenv(envRecordingsRequired) == "1" {
			t.Fatal(why)
		}
		fmt.Fprintln(os.Stderr, why)
		t.Skip(why)
	}
	return dir
}

// recording is a document with what is known from elsewhere of the state in which it was taken.
type recording struct {
	name string
	*status
	killed []string // pods
}

// recorded are all documents, in the order in which they were taken. The list of storage servers
// was not recorded: it follows from the deeds. A server that was killed stays on it until its shards
// have been made again elsewhere.
func recorded(t testing.TB) []recording {
	files, err := filepath.Glob(filepath.Join(recordings(t), "status-*.json"))
	require.NoError(t, err)
	slices.Sort(files)
	require.GreaterOrEqual(t, len(files), 36)
	var out []recording
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		s, err := decodeStatus(strings.NewReader(string(text)))
		require.NoError(t, err, file)
		r := recording{name: strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "status-"), ".json"), status: s}
		s.list = listed(s)
		rebuilt := r.name == "04-storage-killed-09-084s"
		switch {
		case strings.HasPrefix(r.name, "04-"):
			r.killed = []string{"fdb-1"}
			if !rebuilt {
				s.list.ids = append(s.list.ids, "1c7d3fc2dd61560e")
			}
		case strings.HasPrefix(r.name, "11-"):
			r.killed = []string{"fdb-4"}
		case strings.HasPrefix(r.name, "14-"):
			r.killed = []string{"fdb-1"}
			s.list.ids = append(s.list.ids, "32bf8fee080b3767")
		case strings.HasPrefix(r.name, "17-"):
			r.killed = []string{"fdb-3", "fdb-4", "fdb-5"}
		}
		out = append(out, r)
	}
	return out
}

// listed is the list of storage servers when all of them run.
func listed(s *status) serverList {
	l := serverList{read: true}
	for _, p := range s.processes {
		for _, r := range p.ids {
			if r.role == "storage" && r.id != "" && r.answers {
				l.ids = append(l.ids, r.id)
			}
		}
	}
	return l
}

// watcher looks at documents as the agent of a pod does.
type watcher struct{ e *Engine }

func newWatcher(pod string) watcher {
	return watcher{&Engine{options: Options{Instance: pod}.withDefaults()}}
}

func (w watcher) look(s *status, now time.Time) engines.Observation {
	fresh := *s // what is remembered is noted in it
	fresh.absent = nil
	v := snapshot{status: &fresh, now: now}
	if is(s.available) {
		v = w.e.remember(v)
	}
	return w.e.observation(v, nil)
}

// allowed are the pods of nine that the policy lets go, each asked alone, when those that were killed
// are not ready.
func allowed(o engines.Observation, killed []string) []string {
	var out []string
	for i := range 9 {
		pod := fmt.Sprintf("fdb-%d", i)
		plan := policy.Decide(ninePods(o, pod, killed))
		if slices.ContainsFunc(plan.Steps, func(s model.Step) bool { return s.Pod == pod }) {
			out = append(out, pod)
		}
	}
	return out
}

// ninePods is what a coordinator would see, of which one pod is out of date and no budget holds it.
func ninePods(o engines.Observation, outdated string, killed []string) model.Snapshot {
	now := time.Date(2026, 11, 24, 19, 0, 0, 0, time.UTC)
	facts := new(Engine).Facts()
	nine := model.Count(9)
	s := model.Snapshot{
		Version: model.Version, Now: model.At(now),
		Cluster: model.Cluster{
			Namespace: "prod", Name: "fdb", UID: "c", Window: model.WindowState{Open: true}, GuardEnforcing: true,
			Engine: model.EngineFacts{MaxMajorStep: 1, ByZone: facts.ByZone, DataRoles: facts.DataRoles}, Status: model.Status{Initialized: true},
		},
		Health: model.Health{Verdict: model.Verdict(o.Health.Verdict.String()), Reason: o.Health.Reason},
		Pools: []model.Pool{{
			Name: "fdb", Replicas: 9, Revision: "v2", Observed: true, Agents: true,
			Management: model.ManagementParallel, Strategy: model.StrategyOnDelete,
		}},
	}
	s.Cluster.Spec.Engine = model.FoundationDB
	s.Cluster.Spec.Policy.MaxUnavailable, s.Cluster.Spec.Policy.MaxFailed = &nine, 9
	s.Cluster.Spec = s.Cluster.Spec.WithDefaults()
	for i := range 9 {
		pod := fmt.Sprintf("fdb-%d", i)
		zone := []string{"zone-a", "zone-b", "zone-c"}[i%3]
		p := model.Pod{
			Name: pod, UID: "first " + pod, Pool: "fdb", Ordinal: int32(i), Node: "node of " + pod, Zone: zone,
			Revision: "v2", Phase: model.PodPhaseReady, Since: model.At(now.Add(-time.Hour)), Agent: true, Guard: model.GuardClosed, EstimateSeconds: 60,
			Report: &model.Report{UID: "first " + pod, Self: true, Fresh: true, Member: model.MembershipLive, Settled: true},
		}
		if pod == outdated {
			p.Revision = "v1"
		}
		if slices.Contains(killed, pod) {
			p.Phase, p.Report = model.PodPhaseNotStarted, nil
		}
		s.Pods = append(s.Pods, p)
		s.Nodes = append(s.Nodes, model.Node{Name: "node of " + pod, Zone: zone})
	}
	for _, g := range o.Groups {
		least := int32(g.MinAvailable)
		group := model.Group{ID: g.ID, Kind: model.GroupKind(g.Kind.String()), MinAvailable: &least, Moving: g.Moving}
		for _, m := range g.Members {
			group.Members = append(group.Members, model.Member{ID: m.ID, Pod: m.Node, State: model.MemberState(m.State.String()), Domain: m.Domain, Eligible: m.Eligible})
		}
		s.Groups = append(s.Groups, group)
	}
	return s
}

// TestRecordedDocuments prints what is made of each.
func TestRecordedDocuments(t *testing.T) {
	w := newWatcher("fdb-0")
	for _, r := range recorded(t) {
		o := w.look(r.status, time.Unix(int64(r.clock), 0))
		fresh := newWatcher("fdb-0").look(r.status, time.Unix(int64(r.clock), 0))
		fmt.Printf("{%q, %q, %q, %q},\n", r.name, o.Health.Verdict, strings.Join(allowed(o, r.killed), " "), o.Health.Reason)
		if fresh.Health != o.Health || !slices.Equal(allowed(fresh, r.killed), allowed(o, r.killed)) {
			fmt.Printf("   fresh %q, %q, %q,\n", fresh.Health.Verdict, strings.Join(allowed(fresh, r.killed), " "), fresh.Health.Reason)
		}
	}
}
