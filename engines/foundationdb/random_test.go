package foundationdb

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
	"github.com/rollcall-dev/rollcall/test/race"
)

var models = flag.Int("models", 2_000, "random clusters for the what-if")

// TestWhatIfAgainstTheTruth draws random clusters in random states. From one look at the status, no
// pod may go that would make data, logs or the quorum unavailable, and hardly any other pod is
// held.
func TestWhatIfAgainstTheTruth(t *testing.T) {
	n, tried := *models, 0
	var asked, permitted, needless, unsafe int
	reasons := map[string]int{}
	for seed := range uint64(n) {
		if !race.Part(int(seed), 20) {
			continue
		}
		tried++
		r := rand.New(rand.NewPCG(seed, 7))
		m := model.Random(r)
		// What went before the first look the database may not have noticed either.
		m.Advance(time.Duration(r.IntN(121)) * time.Second)
		var mem memory
		s, away := lookAt(t, m, &mem)
		for range r.IntN(3) {
			m.Disturb(r)
			s, away = lookAt(t, m, &mem)
		}
		before := m.Truth()
		if v := s.verdict(away).Verdict; v != engines.VerdictGreen && v != engines.VerdictRecoverable {
			continue // the policy lets nobody go
		}
		going := someOf(r, s)
		if len(going) == 0 {
			continue
		}
		copies, _ := s.copies()
		ok, group := permits(s.groups(away), copies-1, down(m), going, false)
		after := m.Without(going...)
		lost := lostBy(before, after)
		asked++
		switch {
		case ok && lost != "":
			unsafe++
			t.Errorf("seed %d: %v may go, and %s is lost", seed, going, lost)
		case ok:
			permitted++
		case lost == "" && spared(t, m, s, going):
			needless++
			reasons[group]++
			if testing.Verbose() {
				t.Logf("seed %d: %v held by %s, down %v: %s", seed, going, group, down(m), inWords(engines.Observation{Groups: s.groups(away), Health: s.verdict(away)}))
			}
		}
		if unsafe > 5 {
			t.FailNow()
		}
	}
	t.Logf("%d asked, %d permitted, %d needlessly refused (%.2f %%): %v", asked, permitted, needless, 100*float64(needless)/float64(max(asked, 1)), reasons)
	require.Greater(t, asked, tried/10)
	require.Greater(t, permitted, asked/10)
	// Most are where a coordinator is dead whose zone nobody has seen.
	require.Less(t, 100*needless, 2*asked)
}

// down are the pods that Kubernetes knows to be unavailable, whatever the status says yet.
func down(m *model.Cluster) []string {
	var out []string
	for _, p := range m.Processes {
		if !p.Up {
			out = append(out, p.Instance)
		}
	}
	return out
}

// lostBy names what was there before and is not after.
func lostBy(before, after model.Truth) string {
	switch {
	case before.DataReached && !after.DataReached:
		return "data"
	case before.LogsEnough && !after.LogsEnough:
		return "logs"
	case before.Quorum && !after.Quorum:
		return "the quorum"
	}
	return ""
}

func lookAt(t *testing.T, m *model.Cluster, mem *memory) (*status, []remembered) {
	s, err := decodeStatus(bytes.NewReader(m.StatusJSON()))
	require.NoError(t, err)
	s.list.read = true
	for _, key := range m.KeysBetween([]byte("\xff/serverList/"), []byte("\xff/serverList0")) {
		s.list.ids = append(s.list.ids, fmt.Sprintf("%016x", binary.LittleEndian.Uint64(key[len("\xff/serverList/"):])))
	}
	now := time.Unix(0, 0).Add(m.Now)
	mem.lookAt(now, s)
	return s, mem.look(now, s)
}

// someOf draws one pod that is in the database, or some of one zone, or some of
// anywhere.
func someOf(r *rand.Rand, s *status) []string {
	if len(s.processes) == 0 {
		return nil
	}
	first := s.processes[r.IntN(len(s.processes))]
	going := []string{first.instance}
	kind := r.IntN(3)
	for _, p := range s.processes {
		if p.instance != first.instance && r.IntN(2) == 0 && (kind == 1 && p.zone == first.zone || kind == 2 && r.IntN(3) == 0) {
			going = append(going, p.instance)
		}
	}
	return going
}

// spared reports whether as many more zones as these pods are in may fail, by FoundationDB's own
// count. A few more could fail if the copies happen to be placed well, which cannot be known.
func spared(t *testing.T, m *model.Cluster, s *status, going []string) bool {
	var document struct {
		Cluster struct {
			Tolerance struct {
				Data         int `json:"max_zone_failures_without_losing_data"`
				Availability int `json:"max_zone_failures_without_losing_availability"`
			} `json:"fault_tolerance"`
		} `json:"cluster"`
	}
	require.NoError(t, json.Unmarshal(m.StatusJSON(), &document))
	broken, more := map[string]bool{s.maintenance: true}, map[string]bool{}
	for _, name := range down(m) {
		broken[m.Process(name).Zone] = true
	}
	for _, name := range going {
		if zone := m.Process(name).Zone; !broken[zone] {
			more[zone] = true
		}
	}
	tolerance := document.Cluster.Tolerance
	return len(more) <= min(tolerance.Data, tolerance.Availability)
}
