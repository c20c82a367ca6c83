package suite

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	"github.com/rollcall-dev/rollcall/coordinator/status/web"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/tool"
)

// patience is the patience of these tests, instead of ten minutes: policy.progressSeconds.
const patience = 75 * time.Second

// TestStuckRollouts sticks a rollout in five ways. Whatever a person looks at then
// names the same rule, the same facts and the same way out, and a CI job that waits
// for the rollout ends with the exit status that says what became of it.
func TestStuckRollouts(t *testing.T) {
	measured(t)
	b := bed(t, sqlcluster.MariaDB.Name)
	leaveNothing(t, b)
	s := &stuckTest{sqlTest: sqlTest{bed: b, flavor: sqlcluster.MariaDB, life: t.Context()}}
	t.Setenv("PATH", b.Path("bin")+string(os.PathListSeparator)+os.Getenv("PATH")) // kubectl finds its plugin there
	s.strategy(t, "null", sqlcluster.OnDelete)
	require.NoError(t, s.spec(t.Context(), fmt.Sprintf(`{"policy":{"progressSeconds":%d}}`, int(patience.Seconds()))))
	walk(t, []step{
		{"ForeignBudget", s.foreignBudget},
		{"BadImage", s.badImage},
		{"Unschedulable", s.unschedulable},
		{"ReplicaLags", s.replicaLags},
		{"ZoneLost", s.zoneLost},
	}, nil)
	require.NoError(t, s.cluster.Delete(t.Context()))
}

type stuckTest struct {
	sqlTest
}

// foreignBudget: somebody made a budget that lets nobody go.
func (s *stuckTest) foreignBudget(t *testing.T) {
	budget := `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: theirs, namespace: demo}, spec: {maxUnavailable: 0, selector: {matchLabels: {app: mariadb}}}}`
	s.stuck(t, model.RuleForeignBudget, exitStalled, s.then(func(ctx context.Context) error { return s.bed.Apply(ctx, budget) }, "budget"))
	_, err := s.bed.Kubectl(t.Context(), "", "delete", "pdb", "theirs", "-n", sqlcluster.Namespace)
	require.NoError(t, err)
	s.goesOn(t)
	s.over(t, "5s", exitTimedOut) // three pods need longer
	s.over(t, "8m", exitDone)
}

// badImage: the new template names an image that nobody has.
func (s *stuckTest) badImage(t *testing.T) {
	s.stuck(t, model.RuleRolloutHalted, exitFailed, func(ctx context.Context) error { return s.cluster.SetImage(ctx, "nobody-has-it") })
	require.NoError(t, s.cluster.SetImage(t.Context(), sqlcluster.NewTag))
	s.over(t, "8m", exitDone)
}

// unschedulable: the new template asks for a node that there is not.
func (s *stuckTest) unschedulable(t *testing.T) {
	on := func(selector map[string]string) func(*appsv1.StatefulSet) {
		return func(set *appsv1.StatefulSet) { set.Spec.Template.Spec.NodeSelector = selector }
	}
	s.stuck(t, model.RuleRolloutHalted, exitFailed, func(ctx context.Context) error {
		return s.cluster.Edit(ctx, on(map[string]string{"disk": "of-tomorrow"}))
	})
	require.NoError(t, s.cluster.Edit(t.Context(), on(nil)))
	s.over(t, "8m", exitDone)
}

// replicaLags: a replica is a minute behind an application that writes.
func (s *stuckTest) replicaLags(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	primary, replicas, err := s.replicas(ctx)
	require.NoError(t, err)
	require.NoError(t, s.cluster.Exec(ctx, primary, "CREATE TABLE IF NOT EXISTS app.ticks (at TIMESTAMP)"))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for testbed.Pause(ctx, 300*time.Millisecond) == nil {
			if at, err := s.cluster.Primary(ctx); err == nil {
				_ = s.cluster.Exec(ctx, at, "INSERT INTO app.ticks VALUES (NOW())") // during a switchover nobody takes it
			}
		}
	}()
	defer func() {
		stop()
		<-ended
	}()
	require.NoError(t, s.cluster.Delay(ctx, replicas[0], time.Minute))
	require.NoError(t, testbed.Pause(ctx, 15*time.Second))
	s.stuck(t, model.RuleHealth, exitStalled, func(ctx context.Context) error { return s.cluster.Touch(ctx, "lags") })
	require.NoError(t, s.cluster.Delay(ctx, replicas[0], 0))
	s.goesOn(t)
	s.over(t, "8m", exitDone)
}

// zoneLost: the node of a replica dies, and with it all of a zone, before the change.
func (s *stuckTest) zoneLost(t *testing.T) {
	ctx := t.Context()
	_, replicas, err := s.replicas(ctx)
	require.NoError(t, err)
	node := s.cluster.Pod(replicas[0]).Spec.NodeName
	require.NoError(t, s.bed.Node(ctx, "stop", node))
	defer func() { require.NoError(t, s.bed.Repair(context.WithoutCancel(ctx))) }()
	require.NoError(t, s.bed.Eventually(ctx, node+" to be missed", 3*time.Minute, func(context.Context) error {
		if testbed.Ready(s.cluster.Pod(replicas[0])) {
			return errors.New("its pod is said to be Ready")
		}
		return nil
	}))
	s.stuck(t, model.RuleNoReport, exitStalled, func(ctx context.Context) error { return s.cluster.Touch(ctx, "zone-lost") })
	said, err := s.bed.Rollcall(ctx, "explain", replicas[0], "-n", sqlcluster.Namespace)
	require.NoError(t, err)
	require.Contains(t, said, node+", its node, does not answer")
	require.NoError(t, s.bed.Node(ctx, "start", node))
	s.goesOn(t)
	s.over(t, "10m", exitDone)
}

// then touches the template after something else.
func (s *stuckTest) then(first func(ctx context.Context) error, value string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if err := first(ctx); err != nil {
			return err
		}
		return s.cluster.Touch(ctx, value)
	}
}

// Exit statuses of `rollcall status --wait`.
const (
	exitDone     = 0
	exitFailed   = 1
	exitStalled  = 2
	exitTimedOut = 3
)

// over is the step of a CI job that waits for the rollout.
func (s *stuckTest) over(t *testing.T, timeout string, want int) {
	t.Helper()
	began := time.Now()
	out, err := s.bed.Kubectl(t.Context(), "", "rollcall", "status", s.flavor.Name, "-n", sqlcluster.Namespace, "--wait", "--timeout", timeout)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got, err = exit.ExitCode(), fmt.Errorf("%s: %w", exit, err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	t.Logf("kubectl rollcall status --wait --timeout %s: exit status %d after %s: %v\n%s", timeout, got, time.Since(began).Round(time.Second), err, lines[len(lines)-1])
	if got != want {
		describe(t)
	}
	require.Equal(t, want, got, "%v", err)
}

// goesOn waits until what was repaired has been seen to be.
func (s *stuckTest) goesOn(t *testing.T) {
	t.Helper()
	require.NoError(t, s.bed.Eventually(t.Context(), "the rollout to go on", 5*time.Minute, func(ctx context.Context) error {
		stall, err := s.condition(ctx)
		if errors.Is(err, errNotStalled) {
			return nil
		}
		return errors.Join(err, fmt.Errorf("%s: %s", stall.Rule, stall.Message))
	}))
}

var errNotStalled = errors.New("it is not stalled")

// stuck brings a rollout into trouble, and holds everything that is said of it
// against each other.
func (s *stuckTest) stuck(t *testing.T, rule model.Rule, exit int, trouble func(ctx context.Context) error) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, trouble(ctx))
	s.over(t, "6m", exit)
	var condition status.Stall
	var since time.Time // when it began to say that; drains are undone in the meantime
	require.NoError(t, s.bed.Eventually(ctx, "the condition Stalled", 4*time.Minute, func(ctx context.Context) error {
		now, err := s.condition(ctx)
		switch {
		case err != nil:
			return err
		case now.Rule != string(rule):
			return fmt.Errorf("%s: %s", now.Rule, now.Message)
		case ageless(now.Message) != ageless(condition.Message):
			condition, since = now, time.Now()
		}
		if time.Since(since) < 10*time.Second {
			return errors.New("it has only just said so")
		}
		return nil
	}))
	t.Logf("%s: %s", condition.Rule, condition.Message)
	require.Contains(t, condition.Message, "unblocked by: ", "the way out")

	// They are asked one after the other, and the time that it has lasted goes on.
	same := func(what, text string) {
		t.Helper()
		require.Contains(t, ageless(text), condition.Rule, what)
		require.Contains(t, ageless(text), ageless(condition.Message), what)
	}
	text, err := s.bed.Rollcall(ctx, "status", s.flavor.Name, "-n", sqlcluster.Namespace)
	require.NoError(t, err)
	same("status", text)
	for _, pod := range s.cluster.Pods.All() {
		text, err := s.bed.Rollcall(ctx, "explain", pod.Name, "-n", sqlcluster.Namespace)
		require.NoError(t, err)
		same("explain", text)
	}
	view := s.page(t)
	require.NotNil(t, view.Stalled)
	same("the page", view.Stalled.Rule+": "+view.Stalled.Message)
	events, err := s.bed.Kubectl(ctx, "", "get", "events.events.k8s.io", "-n", sqlcluster.Namespace, "--field-selector", "reason="+status.EventStalled, "-o", "jsonpath={.items[*].note}")
	require.NoError(t, err)
	same("the Event", events)
	s.alerts(t, rule)
}

// lasted is how long it has been so, and the ages within reasons.
var lasted = regexp.MustCompile(`([0-9]+(ms|s|m|h))+\b`)

// ageless is a text as it is said at any time, on one line.
func ageless(text string) string {
	return strings.Join(strings.Fields(lasted.ReplaceAllString(text, "?")), " ")
}

// condition Stalled of the DatabaseCluster.
func (s *stuckTest) condition(ctx context.Context) (status.Stall, error) {
	text, err := s.bed.Kubectl(ctx, "", "get", "dbc", s.flavor.Name, "-n", sqlcluster.Namespace, "-o", "json")
	if err != nil {
		return status.Stall{}, err
	}
	var dbc v1alpha1.DatabaseCluster
	if err := json.Unmarshal([]byte(text), &dbc); err != nil {
		return status.Stall{}, err
	}
	for _, c := range dbc.Status.Conditions {
		if c.Type == v1alpha1.ConditionStalled && c.Status == "True" {
			return status.Stall{Rule: c.Reason, Message: c.Message}, nil
		}
	}
	return status.Stall{}, errNotStalled
}

// page is what `rollcall page` shows in a browser.
func (s *stuckTest) page(t *testing.T) (view web.View) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	cmd := exec.CommandContext(ctx, s.bed.Program("rollcall"), "page", s.flavor.Name, "-n", sqlcluster.Namespace, "--listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.bed.Kubeconfig)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() {
		end()
		_ = cmd.Wait() // it was killed
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	url, _, _ := strings.Cut(strings.TrimSpace(line), "/#")
	require.NoError(t, testbed.Call{URL: url + "/api/clusters/" + sqlcluster.Namespace + "/" + s.flavor.Name, Into: &view}.Do(ctx))
	return view
}

// alerts has Prometheus evaluate the chart's alerts on what the leader's metrics are.
func (s *stuckTest) alerts(t *testing.T, rule model.Rule) {
	t.Helper()
	var series []string
	require.NoError(t, s.bed.Eventually(t.Context(), "metrics", time.Minute, func(ctx context.Context) error {
		leader, err := s.bed.Leader(ctx)
		if err != nil {
			return err
		}
		series, err = scrape(ctx, leader)
		return err
	}))
	type input struct {
		Series string `json:"series"`
		Values string `json:"values"`
	}
	type expected struct {
		Labels string  `json:"labels"`
		Value  float64 `json:"value"`
	}
	cluster := sqlcluster.Namespace + "/" + s.flavor.Name
	test := map[string]any{
		"interval": "1m",
		"promql_expr_test": []any{map[string]any{
			"expr":      `count by (alertname, cluster, rule) (ALERTS{alertstate="firing",alertname="RollcallStalled"})`,
			"eval_time": "10m",
			"exp_samples": []expected{{
				Labels: fmt.Sprintf(`{alertname="RollcallStalled", cluster=%q, rule=%q}`, cluster, rule), Value: 1,
			}},
		}},
	}
	var inputs []input
	for _, line := range series {
		name, value, ok := strings.Cut(line, "} ")
		if !ok {
			continue
		}
		inputs = append(inputs, input{Series: name + "}", Values: value + "x20"})
	}
	require.NotEmpty(t, inputs)
	test["input_series"] = inputs
	text, err := json.Marshal(map[string]any{
		"rule_files": []string{s.bed.Path("deploy", "chart", "files", "alerts.yaml")}, "evaluation_interval": "1m", "tests": []any{test},
	})
	require.NoError(t, err)
	file := t.TempDir() + "/test.yaml"
	require.NoError(t, os.WriteFile(file, text, 0o600))
	out, err := tool.Command(t.Context(), s.bed.Path(), "promtool", "test", "rules", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// scrape is the metrics about databases that a coordinator has.
func scrape(ctx context.Context, pod *corev1.Pod) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(pod.Status.PodIP, "7951")+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var list []string
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if line := lines.Text(); strings.HasPrefix(line, "rollcall_") && strings.Contains(line, "cluster=") {
			list = append(list, line)
		}
	}
	return list, lines.Err()
}
