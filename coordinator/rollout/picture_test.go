package rollout

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

var update = flag.Bool("update", false, "write the picture of a claim in DESIGN.md again")

// The tables in DESIGN.md say what claims do: which moves are made in each state, and which states
// follow. They are generated from the table of transitions with random worlds.
func TestDesignHasThePictureOfAClaim(t *testing.T) {
	p := picture{moves: map[model.ClaimPhase]map[string]int{}, next: map[model.ClaimPhase]map[string]int{}}
	for seed := range uint64(400) {
		p.watch(newRandomWorld(rand.New(rand.NewPCG(2, seed))))
	}
	const begin, end = "<!-- the picture of a claim: begin -->\n", "<!-- the picture of a claim: end -->"
	design, err := os.ReadFile("DESIGN.md")
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(design), begin)
	require.True(t, found, begin)
	drawn, after, found := strings.Cut(rest, end)
	require.True(t, found, end)
	if *update {
		require.NoError(t, os.WriteFile("DESIGN.md", []byte(before+begin+p.text()+end+after), 0o644))
		return
	}
	require.Equal(t, drawn, p.text(), "run go test ./coordinator/rollout -run Picture -update, and read what has changed")
}

// picture counts what claims do.
type picture struct {
	moves, next map[model.ClaimPhase]map[string]int
}

const released = "(released)"

func (p picture) watch(w *randomWorld) {
	state := NewState(1, Before{LastProgress: w.now})
	was := map[string]model.ClaimPhase{}
	for range 60 {
		next, d := Step(state, w.facts(), w.results(), w.now)
		d.NameClaims(&next, w.newID)
		if d.Superseded {
			return
		}
		is := map[string]model.ClaimPhase{}
		for _, c := range d.Claims {
			is[c.ID] = c.Phase
			if before, known := was[c.ID]; known && before != c.Phase {
				count1(p.next, before, string(c.Phase))
			}
		}
		for _, entry := range d.Log {
			if entry.Message == "claim" {
				count1(p.moves, model.ClaimPhase(fmt.Sprint(entry.Args[7])), fmt.Sprint(entry.Args[5]))
			}
		}
		for _, id := range d.Edits.Drop {
			if before, known := was[id]; known {
				count1(p.next, before, released)
			}
		}
		was, state = is, next
		w.goOn(d)
	}
}

func count1(m map[model.ClaimPhase]map[string]int, phase model.ClaimPhase, what string) {
	if m[phase] == nil {
		m[phase] = map[string]int{}
	}
	m[phase][what]++
}

func (p picture) text() string {
	var b strings.Builder
	b.WriteString("| state | moves | leads to |\n| --- | --- | --- |\n")
	for _, phase := range model.ClaimPhases() {
		if phase == model.PhaseRejoined {
			continue // it is not entered again
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", phase, often(p.moves[phase]), often(p.next[phase]))
	}
	for _, table := range []struct {
		title string
		rows  []transition
	}{{"its pod is there", whenHere}, {"its pod is there, and it is given up", whenGivenUp}, {"its pod has gone", whenGone}} {
		fmt.Fprintf(&b, "\n| %s: the first of these that is so | move |\n| --- | --- |\n", table.title)
		for _, row := range table.rows {
			fmt.Fprintf(&b, "| %s | %s |\n", row.when, row.move)
		}
	}
	return b.String()
}

// often returns those that were seen more than rarely, in order.
func often(seen map[string]int) string {
	return strings.Join(slices.Sorted(maps.Keys(seen)), ", ")
}
