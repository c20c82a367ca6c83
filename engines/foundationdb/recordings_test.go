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

// What is made of each recorded state by an agent that has watched all of them, whatever it is named;
// who has started just then says the same, but for zones that it cannot know (fresh).
var recordedStates = []struct{ name, verdict, mayGo, why, fresh string }{
	{"01-healthy", "Green", everybody, "", ""},
	{"02-maintenance-zone-b", "Green", "fdb-1 fdb-4 fdb-7", "zone zone-b is under maintenance", ""},
	{"03-maintenance-changed", "Green", "fdb-2 fdb-5 fdb-8", "zone zone-c is under maintenance", ""},
	{"04-storage-killed-00-000s", "Yellow", "fdb-1", zoneBMissing, "a storage server that the database counts on (1c7d3fc2dd61560e) is not running, and its zone is not known"},
	{"04-storage-killed-01-011s", "Yellow", "fdb-1", zoneBMissing, "a storage server that the database counts on (1c7d3fc2dd61560e) is not running, and its zone is not known"},
	{"04-storage-killed-02-021s", "Yellow", "fdb-1", zoneBMissing, "a storage server that the database counts on (1c7d3fc2dd61560e) is not running, and its zone is not known"},
	{"04-storage-killed-03-030s", "Yellow", "fdb-1", zoneBMissing, "a storage server that the database counts on (1c7d3fc2dd61560e) is not running, and its zone is not known"},
	{"04-storage-killed-04-039s", "Yellow", "fdb-1", zoneBMissing, "a storage server that the database counts on (1c7d3fc2dd61560e) is not running, and its zone is not known"},
	{"04-storage-killed-05-048s", "Yellow", "fdb-1", zoneBMissing, "a storage server that the database counts on (1c7d3fc2dd61560e) is not running, and its zone is not known"},
	{"04-storage-killed-06-057s", "Yellow", "fdb-1", zoneBMissing, "a storage server that the database counts on (1c7d3fc2dd61560e) is not running, and its zone is not known"},
	{"04-storage-killed-07-066s", "Yellow", "fdb-1", zoneBMissing, "a storage server that the database counts on (1c7d3fc2dd61560e) is not running, and its zone is not known"},
	{"04-storage-killed-08-075s", "Yellow", "fdb-1", "some data have 1 of 2 copies", ""},
	{"04-storage-killed-09-084s", "Green", everybody, "", ""},
	{"05-storage-back-0-000s", "Green", everybody, "", ""},
	{"05-storage-back-1-008s", "Green", everybody, "", ""},
	{"05-storage-back-2-016s", "Green", everybody, "", ""},
	{"05-storage-back-3-024s", "Green", everybody, "", ""},
	{"06-excluding", "Green", everybody, "fdb-2 is excluded by somebody (locality_instance_id:fdb-2)", ""},
	{"07-excluded", "Green", everybody, "fdb-2 is excluded by somebody (locality_instance_id:fdb-2)", ""},
	{"08-included", "Green", everybody, "", ""},
	{"09-excluded-address", "Green", everybody, "fdb-1 is excluded by somebody (127.0.0.1:4901)", ""},
	{"10-coordinator-moved", "Yellow", "", "the database recovered 0 s ago, must be at least 10 s", ""},
	{"11-log-coordinator-killed-0-000s", "Unknown", "fdb-4", "the status does not say how many copies of the data there are", ""},
	{"11-log-coordinator-killed-1-006s", "Unknown", "fdb-4", starting, ""},
	{"11-log-coordinator-killed-2-016s", "Unknown", "fdb-4", starting, ""},
	{"11-log-coordinator-killed-3-025s", "Unknown", "fdb-4", starting, ""},
	{"11-log-coordinator-killed-4-035s", "Unknown", "fdb-4", starting, ""},
	{"11-log-coordinator-killed-5-045s", "Recoverable", "fdb-1 fdb-4 fdb-7", seatAway, "coordinator 127.0.0.1:4904 is not reachable"},
	{"11-log-coordinator-killed-6-054s", "Recoverable", "fdb-1 fdb-4 fdb-7", seatAway, "coordinator 127.0.0.1:4904 is not reachable"},
	{"11-log-coordinator-killed-7-064s", "Recoverable", "fdb-1 fdb-4 fdb-7", seatAway, "coordinator 127.0.0.1:4904 is not reachable"},
	{"11-log-coordinator-killed-8-073s", "Recoverable", "fdb-1 fdb-4 fdb-7", seatAway, "coordinator 127.0.0.1:4904 is not reachable"},
	{"12-log-back", "Unknown", "", starting, ""},
	{"13-data-distribution-off", "Unknown", "", "data distribution is disabled: lost copies are neither noticed nor made again; say `datadistribution on`", ""},
	{"14-off-and-storage-killed-90s", "Unknown", "fdb-1", "data distribution is disabled: lost copies are neither noticed nor made again; say `datadistribution on`", ""},
	{"15-ssfailure-disabled", "Unknown", "", "data distribution is disabled for failures of storage servers: lost copies are neither noticed nor made again; say `datadistribution enable ssfailure`", ""},
	{"16-locked", "Yellow", "", "the database is locked (UID 2ffda204b5cdc19f37cb0ae16b06739d) by somebody: nothing goes until they unlock it", ""},
	{"17-all-coordinators-killed", "Red", "fdb-3 fdb-4 fdb-5", "the database is unavailable: quorum_not_reachable: Unable to reach a quorum of coordinators; of 3 coordinators 127.0.0.1:4903, 127.0.0.1:4904, 127.0.0.1:4905 do not answer", ""},
}

const (
	everybody    = "fdb-0 fdb-1 fdb-2 fdb-3 fdb-4 fdb-5 fdb-6 fdb-7 fdb-8"
	zoneBMissing = "fdb-1 (zone-b) is away: a storage server that the database counts on is not running"
	starting     = "data distribution is starting, and does not say yet how many copies of the data there are"
	seatAway     = "fdb-4 (zone-b) is away, its seat 127.0.0.1:4904 does not answer"
)

// TestRecordings checks that every recorded state is decoded to what a careful reader would say of it: nobody
// of another zone goes while something is missing, nothing is held for ever, and each hold says
// why. Pods whose process was killed may go where the policy corrects them: they have nothing that could be lost.
func TestRecordings(t *testing.T) {
	w := newWatcher("fdb-0")
	states := recorded(t)
	require.Len(t, states, len(recordedStates))
	for i, r := range states {
		want := recordedStates[i]
		require.Equal(t, want.name, r.name)
		now := time.Unix(int64(r.clock), 0)
		o := w.look(r.status, now)
		require.Equal(t, want.verdict, o.Health.Verdict.String(), r.name)
		require.Equal(t, want.mayGo, strings.Join(allowed(o, r.killed), " "), r.name)
		require.Equal(t, want.why, o.Health.Reason, r.name)
		fresh := newWatcher("fdb-0").look(r.status, now)
		require.Equal(t, want.verdict, fresh.Health.Verdict.String(), r.name)
		require.Equal(t, cmp.Or(want.fresh, want.why), fresh.Health.Reason, r.name)
		for _, pod := range allowed(fresh, r.killed) {
			require.Contains(t, want.mayGo, pod, "%s: who knows less lets no more go", r.name)
		}
		for pod := range 9 {
			name := fmt.Sprintf("fdb-%d", pod)
			own := newWatcher(name).look(r.status, now)
			switch {
			case !is(r.available):
				require.Equal(t, engines.MembershipUnknown, own.Member, r.name)
			case !slices.Contains(r.killed, name) && !(strings.HasPrefix(r.name, "05-storage-back-0") && name == "fdb-1"):
				require.Equal(t, engines.MembershipLive, own.Member, "%s %s: %s", r.name, name, own.Veto)
			default:
				require.NotEqual(t, engines.MembershipLive, own.Member, "%s %s", r.name, name)
				require.Equal(t, r.settling() == "" && own.Veto == "", own.Member == engines.MembershipNotLive, "%s %s", r.name, name)
			}
		}
	}
}
