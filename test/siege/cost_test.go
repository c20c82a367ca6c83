package siege

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/config"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// onlyMeasures skips what judges nothing, and takes ten minutes, in the short form.
func onlyMeasures(t *testing.T) {
	if !whole {
		t.Skip("measures, and judges nothing: ROLLCALL_SIEGE_ALL=1 runs it")
	}
}

// TestCostOfAgent measures what the requests and limits of the agent are chosen from
// (deploy/docs/measured.md, What it costs): processor time and memory of the real program
// beside a Solr of one copy, and of 1,000 copies on 50 nodes; at rest, and while a coordinator
// asks for a fresh report after the other; with as much processor time as it likes, and
// with the limits that injection gives to pods which have one.
func TestCostOfAgent(t *testing.T) {
	onlyMeasures(t)
	if os.Getenv(envPrograms) == "" {
		unless(t, envPrograms+" is not set")
	}
	unless(t, noGroups())
	files(t)
	program := build(t, t.TempDir(), "rollcall-agent", "-tags", tags)
	for _, size := range []int{1, 1000} {
		for _, millicores := range []int{0, 500, 100} {
			t.Run(fmt.Sprintf("%d copies, limit %dm", size, millicores), func(t *testing.T) {
				r := newRing(t, program, "Solr")
				capped := throttle(t, r.attacked.pid(t), millicores)
				state := clusterState(size)
				answer := func(w http.ResponseWriter, q *http.Request) { serveState(w, q, state) }
				r.database.answer.Store(&answer)
				time.Sleep(5 * time.Second)

				const rest = 20 * time.Second
				before := r.attacked.processor(t)
				time.Sleep(rest)
				idle := r.attacked.processor(t) - before

				var took []time.Duration
				before, begin := r.attacked.processor(t), time.Now()
				for time.Since(begin) < rest {
					asked := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					_, err := r.attacked.client.GetReport(ctx, &rollcallv1.GetReportRequest{AllGroups: true})
					cancel()
					require.NoError(t, err)
					took = append(took, time.Since(asked))
					time.Sleep(500 * time.Millisecond)
				}
				busy := r.attacked.processor(t) - before
				slices.Sort(took)

				begin = time.Now()
				hook := r.stop(t)
				t.Logf("FIGURES of %q: at rest %.1f m, asked %.1f m; fresh report %v median, %v longest; stop hook %v (%s); memory %s now, %s peak; throttled %s",
					t.Name(), millis(idle, rest), millis(busy, rest), took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond),
					time.Since(begin).Round(time.Millisecond), hook, mebibytes(r.attacked.group.used()), mebibytes(r.attacked.group.peak()), capped())
			})
		}
	}
}

func millis(used, of time.Duration) float64 { return 1000 * used.Seconds() / of.Seconds() }

// stop calls the stop hook of the attacked agent.
func (r *ring) stop(t *testing.T) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.attacked.http+config.StopPath, nil)
	require.NoError(t, err)
	request.Header.Set(config.StopHeader, "token")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	return response.Status
}

// pid returns the pid of the program, which the shell that enters the control group has become.
func (p *process) pid(t *testing.T) int {
	t.Helper()
	return p.command.Process.Pid
}

// processor is the time that the process has used.
func (p *process) processor(t *testing.T) time.Duration {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	user, err := strconv.Atoi(fields[11])
	require.NoError(t, err)
	system, err := strconv.Atoi(fields[12])
	require.NoError(t, err)
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ
}

// throttle gives a process a limit of processor time, as the kubelet does; 0 is none.
// What it answers says for how long the process had to wait so far.
func throttle(t *testing.T, pid, millicores int) func() string {
	t.Helper()
	if millicores == 0 {
		return func() string { return "never" }
	}
	dir := filepath.Join("/sys/fs/cgroup/cpu", groupName())
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("no control group with a processor limit can be made: %v", err)
	}
	write := func(file string, value int) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(strconv.Itoa(value)), 0o644))
	}
	write("cpu.cfs_period_us", 100_000)
	write("cpu.cfs_quota_us", millicores*100)
	write("cgroup.procs", pid)
	t.Cleanup(func() {
		// The process may go on.
		_ = os.WriteFile("/sys/fs/cgroup/cpu/cgroup.procs", []byte(strconv.Itoa(pid)), 0o644)
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			if os.Remove(dir) == nil {
				return
			}
		}
		t.Errorf("%s cannot be removed", dir)
	})
	return func() string {
		data, _ := os.ReadFile(filepath.Join(dir, "cpu.stat"))
		return strings.Join(strings.Fields(string(data)), " ")
	}
}

// clusterState is a CLUSTERSTATUS with so many copies on up to 50 nodes.
func clusterState(copies int) string {
	nodes := min(copies, 50)
	var live []string
	for i := range nodes {
		live = append(live, strconv.Quote(nodeName(i)))
	}
	var collections strings.Builder
	for c := 0; c*40 < copies; c++ {
		if c > 0 {
			collections.WriteByte(',')
		}
		fmt.Fprintf(&collections, `"books%d":{"router":{"name":"compositeId"},"shards":{`, c)
		for s := range 10 {
			if c*40+s*4 >= copies {
				break
			}
			if s > 0 {
				collections.WriteByte(',')
			}
			fmt.Fprintf(&collections, `"shard%d":{"range":"80000000-7fffffff","state":"active","replicas":{`, s)
			for r := range min(4, copies) {
				n := c*40 + s*4 + r
				if r > 0 {
					collections.WriteByte(',')
				}
				fmt.Fprintf(&collections, `"core_node%d":{"core":"books%d_shard%d_replica_n%d","node_name":%q,"type":"NRT","state":"active","leader":"%v","base_url":"http://search-%d:8983"}`,
					n, c, s, n, nodeName(n%nodes), r == 0, n%nodes)
			}
			collections.WriteString(`}}`)
		}
		collections.WriteString(`}}`)
	}
	return fmt.Sprintf(`{"cluster":{"live_nodes":[%s],"collections":{%s}}}`, strings.Join(live, ","), collections.String())
}

func nodeName(i int) string { return fmt.Sprintf("search-%d.search.prod.svc:8983_solr", i) }

// serveState returns what an agent asks of a Solr in this state.
func serveState(w http.ResponseWriter, r *http.Request, state string) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/solr/admin/info/system":
		fmt.Fprintf(w, `{"mode":"solrcloud","node":%q,"lucene":{"solr-spec-version":"9.9.0"}}`, node)
	case r.URL.Path == "/solr/admin/info/health":
		fmt.Fprint(w, `{"responseHeader":{"status":0},"status":"OK"}`)
	case r.FormValue("action") == "CLUSTERSTATUS":
		fmt.Fprint(w, state)
	case r.FormValue("action") == "OVERSEERSTATUS":
		fmt.Fprintf(w, `{"leader":%q}`, node)
	default:
		http.NotFound(w, r)
	}
}

// TestCostOfCoordinator measures the same of the coordinator: at rest, and while strangers
// make it work.
func TestCostOfCoordinator(t *testing.T) {
	onlyMeasures(t)
	w := newWorld(t)
	for _, load := range []struct {
		name string
		do   func(*testing.T, *coordinator)
	}{
		{"at rest", func(*testing.T, *coordinator) { time.Sleep(30 * time.Second) }},
		{"handshakes", handshakes},
	} {
		t.Run(load.name, func(t *testing.T) {
			c := w.newCoordinator(t)
			time.Sleep(5 * time.Second)
			before, begin := c.processor(t), time.Now()
			load.do(t, c)
			took := time.Since(begin)
			t.Logf("FIGURES of %q: %.0f m over %v, %v from the start until it led and was quiet; memory %s now, %s peak",
				t.Name(), millis(c.processor(t)-before, took), took.Round(time.Second), before, mebibytes(c.group.used()), mebibytes(c.group.peak()))
		})
	}
}
