package policy

import (
	"os"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
	"github.com/rollcall-dev/rollcall/test/race"
)

// Whatever the state of one or two small pools without a partition, the rollout ends, or waits for
// something that only a person can do. On its way Rollcall makes no more pods unavailable than may
// be, and no copy that must stay.
func TestSmallPoolsEnd(t *testing.T) {
	n, faults := 0, 0
	play := func(pools []string, turns byte, step int) {
		for _, letters := range pools { // pods to be removed are above the others, of which there is at least one
			if rest := strings.TrimRight(letters, "z"); rest == "" || strings.Contains(rest, "z") {
				return
			}
		}
		for set := range 1 << 6 {
			bit := func(n int) bool { return set>>n&1 > 0 }
			w := smallWorld{pools: pools, smallSet: smallSet{
				limit: 1 + cluster.Count(bit(0)), ordered: bit(1), guarded: bit(2), zones: bit(3), part: bit(4), pace: cluster.Count(bit(5)), turns: turns,
			}}
			if n++; n%step > 0 || faults > 5 || !race.Part(n/step, 15) {
				continue
			}
			if w.start(); w.play() || w.fault == "" && w.asksPerson() {
				continue
			}
			faults++
			w.log = &strings.Builder{}
			w.start()
			w.play()
			t.Errorf("%v:%s\n%s", &w, w.log, Decide(w.s).Text())
		}
	}
	each := func(letters string, length int, turns byte, step int) {
		if os.Getenv("ROLLCALL_WORLDS") == "all" {
			step = 1 + step/1000 // all, or each third of very many
		}
		for _, pods := range words(letters, length) {
			play([]string{pods}, turns, step)
			for cut := 1; cut < length; cut++ {
				play([]string{pods[:cut], pods[cut:]}, turns, step)
			}
		}
	}
	const some = "uobcswihlatdnrz"
	each(some, 2, 0, 29)
	each("ocsibw", 3, 0, 53)
	each("oclhfy", 3, 0, 53)
	each(some+"jqgmexkvfyp", 3, 0, 2003)
	each("ocswz", 4, 0, 307)
	for _, turns := range []byte("bcswi") {
		each("ouclb", 3, turns, 101)
	}
}
