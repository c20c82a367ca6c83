package siege

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/test/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	alertsFile  = "../../deploy/chart/files/alerts.yaml"
	scrapeEvery = 500 * time.Millisecond
)

// faster is how much faster than at a cluster's Prometheus time goes for the alerts: an
// attack of ten seconds, or twenty, stands for one of twenty minutes.
func faster() int { return int(20 * time.Minute / lasts()) }

// ofAttacks are the alerts that say of somebody that they attack.
var ofAttacks = []string{
	"RollcallWebhookOverloaded", "RollcallConnectionsExhausted", "RollcallAgentRefused", "RollcallAgentMessagesThrottled",
	"RollcallTokenReviewsThrottled", "RollcallGossipRejected", "RollcallDatabaseUnreachable",
}

// scraper keeps what a program says of itself at /metrics, as a Prometheus would.
type scraper struct {
	url    string
	labels string // that the monitors of the chart add
	stop   context.CancelFunc
	done   sync.WaitGroup

	ticks  int
	series map[string][]string // by tick
}

func scrape(address, labels string) *scraper {
	ctx, cancel := context.WithCancel(context.Background())
	s := &scraper{url: "http://" + address + "/metrics", labels: labels, stop: cancel, series: map[string][]string{}}
	s.done.Go(func() {
		tick := time.NewTicker(scrapeEvery)
		defer tick.Stop()
		for {
			_ = s.once(ctx) // what is missing is missing
			s.ticks++
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return s
}

func (s *scraper) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, scrapeEvery)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if end := strings.LastIndex(lines.Text(), "} "); end >= 0 {
			name, value, ok = lines.Text()[:end+1], lines.Text()[end+2:], true
		}
		if !ok || !strings.HasPrefix(name, "rollcall_") {
			continue
		}
		name, labels, _ := strings.Cut(strings.TrimSuffix(name, "}"), "{")
		name += "{" + strings.Trim(s.labels+","+labels, ",") + "}"
		for len(s.series[name]) < s.ticks {
			s.series[name] = append(s.series[name], "_")
		}
		s.series[name] = append(s.series[name], value)
	}
	return nil
}

// ofRefusals are the counters that tell of attacks.
var ofRefusals = regexp.MustCompile(`_(refused|rejected|delayed|too_large|probes)_?.*total`)

var durations = regexp.MustCompile(`(for: |\[)(\d+[smhd])(\]|\n)`)

// rulesFor writes the chart's alerts, with time that goes faster.
func rulesFor(t *testing.T, faster int) string {
	t.Helper()
	text, err := os.ReadFile(alertsFile)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "alerts.yaml")
	require.NoError(t, os.WriteFile(file, durations.ReplaceAllFunc(text, func(found []byte) []byte {
		parts := durations.FindSubmatch(found)
		d := string(parts[2])
		if days, ok := strings.CutSuffix(d, "d"); ok {
			d = days + "0h" // near enough to a day for what nobody waits for here
		}
		length, err := time.ParseDuration(d)
		require.NoError(t, err)
		return fmt.Appendf(nil, "%s%dms%s", parts[1], (length / time.Duration(faster)).Milliseconds(), parts[3])
	}), 0o600))
	return file
}

// judged has Prometheus evaluate the chart's alerts on what was scraped: this one has
// fired, or none of those about attacks, where it is empty.
func (s *scraper) judged(t *testing.T, alert string, faster int) {
	t.Helper()
	s.stop()
	s.done.Wait()
	if alert == whatever {
		return
	}
	type input struct {
		Series string `json:"series"`
		Values string `json:"values"`
	}
	type sample struct {
		Labels string  `json:"labels"`
		Value  float64 `json:"value"`
	}
	var inputs []input
	for name, values := range s.series {
		inputs = append(inputs, input{name, strings.Join(values, " ")})
	}
	if !assert.NotEmpty(t, inputs, "nothing could be scraped from %s", s.url) {
		return
	}
	wanted, expected := alert, []sample{{Labels: "{}", Value: 1}}
	if alert == "" {
		wanted, expected = strings.Join(ofAttacks, "|"), []sample{}
	} else {
		require.True(t, slices.Contains(ofAttacks, alert), "%s is no alert about attacks", alert)
	}
	text, err := json.Marshal(map[string]any{
		"rule_files": []string{rulesFor(t, faster)}, "evaluation_interval": scrapeEvery.String(),
		"tests": []any{map[string]any{
			"interval": scrapeEvery.String(), "input_series": inputs,
			"promql_expr_test": []any{map[string]any{
				"expr":      fmt.Sprintf(`group(last_over_time(ALERTS{alertstate="firing",alertname=~%q}[1h]))`, wanted),
				"eval_time": fmt.Sprintf("%dms", (time.Duration(s.ticks) * scrapeEvery).Milliseconds()), "exp_samples": expected,
			}},
		}},
	})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "test.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	out, err := exec.CommandContext(t.Context(), promtool(t), "test", "rules", file).CombinedOutput()
	for name, values := range s.series { // for people
		if counted := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "0" || v == "_" }); len(counted) > 0 && ofRefusals.MatchString(name) {
			t.Logf("%s: %s to %s", name, values[0], values[len(values)-1])
		}
	}
	if assert.NoError(t, err, "Prometheus, about the alert %q over %d scrapes: %s", alert, s.ticks, out) {
		t.Logf("Prometheus, after %d scrapes: %s", s.ticks, map[bool]string{true: "no alert about attacks", false: alert + " fired"}[alert == ""])
	}
}

var promtoolPath struct {
	sync.Once
	file string
	err  error
}

// promtool is Prometheus's own, without the clouds that it could discover.
func promtool(t *testing.T) string {
	t.Helper()
	promtoolPath.Do(func() {
		cmd := tool.Command(t.Context(), "../..", "promtool")
		cmd.Args = slices.Insert(cmd.Args, 2, "-n") // where it is
		cmd.Stderr = os.Stderr
		var out []byte
		out, promtoolPath.err = cmd.Output()
		promtoolPath.file = strings.TrimSpace(string(out))
	})
	require.NoError(t, promtoolPath.err)
	return promtoolPath.file
}
