package foundationdb

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// realText is what fdbcli printed in a state.
type realText struct {
	command, code string
	answer
}

func realTexts(t testing.TB) map[string]realText {
	data, err := os.ReadFile(filepath.Join(recordings(t), "texts.txt"))
	require.NoError(t, err)
	texts := map[string]realText{}
	for part := range strings.SplitSeq("\n"+string(data), "\n=== ") {
		name, rest, _ := strings.Cut(part, "\n")
		head, rest, ok := strings.Cut(rest, "\n--- stdout\n")
		if !ok {
			continue
		}
		stdout, stderr, ok := strings.Cut("\n"+rest, "\n--- stderr")
		require.True(t, ok, name)
		command, code, _ := strings.Cut(head, "\n--- exit ")
		text := realText{command, code, answer{strings.TrimPrefix(stdout, "\n"), strings.TrimPrefix(stderr, "\n")}}
		if _, again := texts[name]; !again { // the first of those of one name
			texts[name] = text
		}
	}
	require.Greater(t, len(texts), 35)
	return texts
}

func realStatus(t testing.TB, name string) *status {
	file, err := os.Open(filepath.Join(recordings(t), "status-"+name+".json"))
	require.NoError(t, err)
	defer file.Close()
	s, err := decodeStatus(file)
	require.NoError(t, err)
	return s
}

// realSnapshot is one of an agent that saw the cluster at rest before.
func realSnapshot(t testing.TB, name string) snapshot {
	var m memory
	m.lookAt(realNow, realStatus(t, "01-healthy"))
	s := realStatus(t, name)
	m.lookAt(realNow, s)
	return snapshot{status: s, last: m.last, now: realNow}
}

// TestRecordedRefusals checks that each refusal of the real fdbcli is read as what it means, by a
// client that runs a program which prints just that.
func TestRecordedRefusals(t *testing.T) {
	texts := realTexts(t)
	texts["locked"] = realText{"$ fdbcli --exec 'include 127.0.0.1:4901'", "1", answer{"", "ERROR: Database is locked (1038)\n"}} // its text is known, and was not recorded
	for name, want := range map[string]struct {
		state engines.ProgressState
		says  string
	}{
		"coordinators unreachable":        {engines.ProgressRunning, "must answer within 5 s"},
		"nonsense":                        {engines.ProgressRefused, "must be of the major and minor version"},
		"exclude bad":                     {engines.ProgressRefused, "must be of the major and minor version"},
		"locked":                          {engines.ProgressRunning, "somebody has locked the database, and nothing here unlocks it"},
		"status minimal without database": {engines.ProgressRunning, "the database does not answer"},
	} {
		a, err := played(t, texts[name].answer, texts[name].code)
		require.NoError(t, err, name)
		var no refusal
		require.ErrorAs(t, a.done("command"), &no, name)
		require.ErrorIs(t, no, ErrCommand)
		p := no.progress(no)
		require.Equal(t, want.state, p.State, name)
		require.Contains(t, p.Detail, want.says)
		require.NotContains(t, p.Detail, "not known")
	}
	for name, text := range texts {
		a, err := played(t, text.answer, text.code)
		switch {
		case strings.HasSuffix(name, "without database") && text.code == "1":
			require.ErrorIs(t, err, ErrTimeout, name)
		case text.code != "0":
			require.NoError(t, err, name)
			var no refusal
			require.ErrorAs(t, a.done(name), &no, name)
			words, _ := no.meaning()
			require.True(t, words != "" || readExclusion(a).noSpace, "%s: %s", name, no)
		}
	}
}

// played runs a program that prints so.
func played(t *testing.T, a answer, code string) (answer, error) {
	e, dir := scripted(t, "cat $d/out; cat $d/err >&2; exit "+cmp.Or(code, "0")+"\n", nil)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "out"), []byte(a.stdout), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "err"), []byte(a.stderr), 0o600))
	return e.client.run(t.Context(), "exclude")
}

// TestRecordedTexts checks what is read in all other texts.
func TestRecordedTexts(t *testing.T) {
	texts := realTexts(t)
	for name, want := range map[string]maintenance{"maintenance none": {}, "maintenance": {"zone-b", 59}} {
		list, err := readMaintenance(texts[name].stdout, 1)
		require.NoError(t, err)
		require.Equal(t, []maintenance{want}, list, name)
	}
	for name, want := range map[string]string{
		"exclude by locality, wait":    "",
		"exclude by locality, no_wait": "Exclusion in progress",
		"exclude unknown locality":     "no servers found",
		"exclude unknown address":      "Missing from cluster",
		"exclude too many":             noSpaceWords,
		"exclude bad":                  "neither a valid network endpoint address",
	} {
		free, why := readExclusion(texts[name].answer).frees([]process{{address: "127.0.0.1:4902"}})
		require.Equal(t, want == "", free, name)
		require.Contains(t, why, want, name)
	}
	free, why := readExclusion(texts["exclude by address wait"].answer).frees([]process{{address: "127.0.0.1:4901"}})
	require.True(t, free, why)
	for _, name := range []string{"coordinators change", "coordinators back"} {
		require.NoError(t, readSeatChange(texts[name].answer), name)
	}
	for _, name := range []string{"include locality", "include unknown", "maintenance off", "maintenance on another zone"} {
		require.NoError(t, texts[name].done("include"), name)
	}
	require.Error(t, readSeatChange(texts["coordinators unreachable"].answer))
}

// TestRecordedExclusions checks that what is on the real list is read back as what was put there: an
// entry of ours is ours, with its mark, and without one it is a person's, which is said and stays.
func TestRecordedExclusions(t *testing.T) {
	order := engines.Order{Kind: engines.Evacuate, Claim: "c"}
	u := undo{Undo: order.UndoOn("fdb-2")}
	require.NoError(t, u.plan(realStatus(t, "08-included"), "c", "fdb-2"))
	require.Equal(t, []string{"locality_instance_id:fdb-2"}, u.Targets)
	for _, name := range []string{"06-excluding", "07-excluded"} {
		s := realStatus(t, name)
		require.True(t, s.lists("locality_instance_id:fdb-2"), name)
		require.Equal(t, "locality_instance_id:fdb-2", s.excludedByPerson("fdb-2"), name)
		require.Empty(t, s.excludedByPerson("fdb-1"), name)
		ours, left, err := s.toInclude(u)
		require.NoError(t, err)
		require.Equal(t, []string{"locality_rollcall:c/fdb-2"}, ours, "only the mark, which is not there")
		require.Equal(t, u.Targets, left, name)

		s.excluded = append(s.excluded, u.Mark)
		require.Empty(t, s.excludedByPerson("fdb-2"), name)
		ours, left, err = s.toInclude(u)
		require.NoError(t, err)
		require.ElementsMatch(t, u.entries(), ours, name)
		require.Empty(t, left)
	}
	s := realStatus(t, "09-excluded-address")
	require.Equal(t, "127.0.0.1:4901", s.excludedByPerson("fdb-1"))
	require.Empty(t, s.excludedByPerson("fdb-2"))
	require.Empty(t, realStatus(t, "08-included").excludedByPerson("fdb-2"))

	e, calls := playing(t, "09-excluded-address", Options{Instance: "fdb-1"})
	handoff := engines.Order{Kind: engines.Handoff, Claim: "h"}
	p := apply(t, e, handoff, plan(t, e, handoff))
	require.Equal(t, engines.ProgressRefused, p.State)
	require.Contains(t, p.Detail, "somebody else has excluded fdb-1 (127.0.0.1:4901)")
	require.Empty(t, calls())
}

// TestRecordedLock checks that a locked database is said with the UID of the lock, and left alone.
func TestRecordedLock(t *testing.T) {
	e, calls := playing(t, "16-locked", Options{Instance: "fdb-2"})
	for _, kind := range []engines.Kind{engines.Handoff, engines.Evacuate} {
		order := engines.Order{Kind: kind, Claim: "c"}
		p := apply(t, e, order, plan(t, e, order))
		require.Equal(t, engines.ProgressRunning, p.State)
		require.Contains(t, p.Detail, "lock UID 2ffda204b5cdc19f37cb0ae16b06739d")
	}
	s := realStatus(t, "16-locked")
	s.excluded = []string{"locality_rollcall:c/fdb-2", "locality_instance_id:fdb-2"}
	p, err := e.include(t.Context(), snapshot{status: s}, s.excluded, realNow)
	require.NoError(t, err)
	require.Equal(t, engines.ProgressRunning, p.State)
	require.Contains(t, p.Detail, "2 entries stay on the exclusion list: somebody has locked the database")
	require.Empty(t, calls())
	require.Empty(t, realStatus(t, "01-healthy").lockedWords())
}

// TestRecordedPlaces checks that a process of a class for logs counts where data could be, as on the
// real server, and one of another class does not.
func TestRecordedPlaces(t *testing.T) {
	s := snapshot{status: realStatus(t, "01-healthy")}
	require.Empty(t, s.noPlace("fdb-1", 0))
	s.redundancy = "triple"
	require.Empty(t, s.noPlace("fdb-1", 0), "fdb-4 in zone-b is for logs, and takes data when nobody else can")
	s.at("127.0.0.1:4904").class = "stateless"
	require.Contains(t, s.noPlace("fdb-1", 0), "data have 3 copies in as many zones, and without fdb-1 there could be storage in 2")
	s.at("127.0.0.1:4904").class = "transaction"
	require.Empty(t, s.noPlace("fdb-1", 0))
	yes := true
	s.at("127.0.0.1:4904").excluded = &yes
	require.NotEmpty(t, s.noPlace("fdb-1", 0))
}
