package opensearch

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// recordedSituations is what the adapter concludes from what real servers
// answered, the same of every version. Groups are the states of their members;
// other lines, see conclusions.
var recordedSituations = map[string][]string{
	"empty":     {"Green", "elected 1", "role/data Active Active Active", "voting/committed 2 of Active Active Active", "voting/accepted 2 of Active Active Active"},
	"green":     {"Green", "alone/0 Active", "moving/0 Active", "pairs/0 Active Active", "pairs/1 Active Active", "thrice/0 Active Active Active", "role/ingest Active Active Active"},
	"snapshot":  {"Green", "busy a snapshot is being taken: backup/daily"},
	"throttled": {"Green", "throttled", "thrice/0 Active Active Active"},
	"moving":    {"Green", "moving/0 moving Active Recovering", "pairs/0 Active Active"},
	"excluded":  {"Green", "role/data Active Active", "alone/0 Active", "thrice/0 Active Active Active", "without another place thrice/0"},
	// One of three is excluded, and one votes alone until that ends.
	"manager-excluded": {"Green", "voting/committed 1 of Active", "voting/accepted 1 of Active", "elected 1", "two excluded from voting"},
	"manager-back":     {"Green", "voting/committed 2 of Active Active Active", "elected 1"},
	"stopped": {"Recoverable missing until a node is back or updated: a copy of", "thrice/0 Active Active Down", "role/data Active Active",
		"voting/committed 2 of Active Active Down"},
	"killed-red": {"Red no primary serves of alone/0", "alone/0 Down", "thrice/0 Active Active Down", "throttled"},
	"back-throttled": {"Recoverable missing until a node is back or updated: a copy of", "thrice/0 Active Active Down", "alone/0 Active", "throttled",
		"role/data Active Active Active"},
	"more-copies-than-nodes": {"Green more copies are configured than there are nodes for, of many/0", "many/0 Active Active Active", "thrice/0 Active Active Active"},
	"no-manager":             {"Unknown the node follows no elected cluster manager, and one may be elected right now", "Unknown"},

	"single":                   {"Green more copies are configured than there are nodes for, of pairs/0", "pairs/0 Active", "alone/0 Active", "voting/committed 1 of Active"},
	"two-managers":             {"Green", "voting/committed 1 of Active", "pairs/0 Active Active", "role/data Active Active", "elected 1"},
	"two-managers-handed-over": {"Green", "voting/committed 1 of Active", "pairs/0 Active Active", "elected 1", "one excluded from voting"},
	"two-managers-one-away":    {"Recoverable missing until a node is back or updated: a copy of pairs/0", "voting/committed 1 of Active", "pairs/0 Active Down", "last"},

	"segments":          {"Green", "segments/0 Active Active Active", "documents/0 Active Active Active"},
	"one-upgraded":      {"Green", "segments/0 Active Active Active", "versions 2.19.6 2.19.6 3.8.0"},
	"fresh-on-upgraded": {"Recoverable missing until a node is back or updated: a copy of fresh/0", "fresh/0 Active Down", "versions 2.19.6 2.19.6 3.8.0"},
	"led-by-upgraded":   {"Green", "fresh/0 Active Active", "versions 2.19.6 3.8.0 3.8.0"},
	"archived":          {"Green", "throttled", "archived archived.compatibility.override_main_response_version"},
	"archived-aside":    {"Green", "versions 2.19.6 3.8.0 3.8.0", "aside true"},
	"all-upgraded":      {"Green", "fresh/0 Active Active", "segments/0 Active Active Active", "versions 3.8.0 3.8.0 3.8.0"},
}

// recordedChanges is what the adapter makes of answers to what it wants changed; empty means it is
// done.
var recordedChanges = map[string]string{
	"change-throttle":        "",
	"change-unthrottle":      "",
	"change-nonsense":        "opensearch answered 400 Bad Request: illegal_argument_exception: Illegal allocation.enable value [SOME]",
	"change-unknown":         "persistent setting [cluster.no.such], not recognized",
	"change-read-only":       "opensearch answered 403 Forbidden: cluster_block_exception: blocked by: [FORBIDDEN/6/cluster read-only (api)];",
	"change-first":           "",
	"change-archived":        "settings_exception: unknown setting [archived.compatibility.override_main_response_version]",
	"change-archived-aside":  "",
	"change-exclude-manager": "",
	"change-exclude-unknown": "",
	"change-exclude-nobody":  "opensearch answered 400 Bad Request: illegal_argument_exception: Please set node identifiers correctly",
	"change-clear-voters":    "",
	"flush":                  "",
	// With a reason of null.
	"no-manager-health":   "opensearch answered 503 Service Unavailable: cluster_manager_not_discovered_exception",
	"no-manager-state":    "opensearch answered 503 Service Unavailable: cluster_manager_not_discovered_exception",
	"no-manager-settings": "opensearch answered 503 Service Unavailable: cluster_manager_not_discovered_exception",
}

func TestRecorded(t *testing.T) {
	seen := map[string]int{}
	for _, file := range recordedFiles(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		version := filepath.Base(filepath.Dir(file))
		seen[name]++
		t.Run(version+"/"+name, func(t *testing.T) {
			c := readConversation(t, file)
			want, ok := recordedSituations[name]
			if !ok {
				says, ok := recordedChanges[name]
				require.True(t, ok, "nobody expects anything of it")
				requireChange(t, c, says)
				return
			}
			got := conclusions(t, c)
			for _, line := range want {
				require.True(t, slices.ContainsFunc(got, func(g string) bool { return g == line || strings.HasSuffix(line, " of") && strings.HasPrefix(g, line) }),
					"%q is not in\n%s", line, strings.Join(got, "\n"))
			}
		})
	}
	for name := range recordedSituations {
		require.NotZero(t, seen[name], name)
	}
	for name := range recordedChanges {
		require.NotZero(t, seen[name], name)
	}
}

// conclusions in words, a line each.
func conclusions(t *testing.T, c conversation) []string {
	e := mustNew(t, replay(t, c))
	o, err := e.Observe(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, o.Node)
	require.NotEmpty(t, o.Version)
	require.Empty(t, o.Veto)
	out := []string{strings.TrimSpace(fmt.Sprint(o.Health.Verdict, " ", o.Health.Reason)), o.Member.String()}
	if o.Busy != "" {
		out = append(out, "busy "+o.Busy)
	}
	if o.Last {
		out = append(out, "last")
	}
	leaders := 0
	for _, g := range o.Groups {
		var states []string
		for _, m := range g.Members {
			states = append(states, m.State.String())
			leaders += count(m.Leader && g.ID == "voting/committed")
			require.True(t, m.Node != "" || m.State == engines.MemberDown, "%s: a copy is nowhere", g.ID)
		}
		slices.Sort(states)
		line := g.ID + " "
		if g.Kind == engines.GroupQuorum {
			line += fmt.Sprintf("%d of ", g.MinAvailable)
		}
		if g.Moving {
			line += "moving "
		}
		out = append(out, line+strings.Join(states, " "))
	}
	out = append(out, fmt.Sprint("elected ", leaders))
	if o.Member != engines.MembershipLive {
		require.Empty(t, o.Groups)
		return out
	}
	self, err := e.api.identity(t.Context())
	require.NoError(t, err)
	r, err := e.api.reading(t.Context(), nil, nil)
	require.NoError(t, err)
	open, err := e.api.ownShards(t.Context(), self.id)
	require.NoError(t, err)
	if hosted := r.state.hosted(self.id); strings.Contains(strings.Join(out, "\n"), " moving ") {
		require.LessOrEqual(t, open, hosted, "what is to come is opened later")
	} else {
		require.Equal(t, hosted, open, "the node has open what the manager says")
	}
	return append(out, settingsInWords(r)...)
}

func settingsInWords(r *reading) []string {
	var out []string
	if r.settings.throttled() {
		out = append(out, "throttled")
	}
	for _, name := range r.settings.excluded() {
		id, _ := r.state.byName(name)
		out = append(out, "without another place "+strings.Trim(fmt.Sprint(r.homeless(id)), "[]"))
	}
	if n := len(r.voting.exclusions); n > 0 {
		out = append(out, []string{"", "one", "two"}[n]+" excluded from voting")
	}
	if names := r.settings.archived(); len(names) > 0 {
		out = append(out, "archived "+strings.Join(names, " "))
	}
	if value, ok := r.settings.persistent[asidePrefix+"compatibility.override_main_response_version"]; ok {
		out = append(out, "aside "+value)
	}
	var versions []string
	for _, f := range r.facts {
		versions = append(versions, f.version)
	}
	slices.Sort(versions)
	return append(out, "versions "+strings.Join(versions, " "))
}

// requireChange decodes the answer as the adapter does.
func requireChange(t *testing.T, c conversation, says string) {
	require.Len(t, c, 1)
	method, target, _ := strings.Cut(c[0].request, " ")
	path, _, _ := strings.Cut(target, "?")
	r := web.Request{Method: method, Path: path, Params: queryOf(t, target), Timeout: testOptions(Options{}).Timeout}
	if path == pathSettings {
		r.Read = decodeAcknowledged
	}
	err := mustNew(t, replay(t, c)).api.client.Do(t.Context(), r)
	if says == "" {
		require.NoError(t, err)
		return
	}
	require.ErrorContains(t, err, says)
	var s *web.StatusError
	require.ErrorAs(t, err, &s)
	require.True(t, refused(err), "OpenSearch understood, and did not do it")
}
