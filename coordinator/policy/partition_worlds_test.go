package policy

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
	"github.com/rollcall-dev/rollcall/test/race"
)

// pursue does the next thing about a claim, like act.
func (w *partitionWorld) pursue(claim model.Claim) (acted, over bool) {
	p := &w.s.Pods[slices.IndexFunc(w.s.Pods, func(p model.Pod) bool { return p.Name == claim.Pod })]
	if p.UID != claim.UID {
		r := Returned(w.s, claim)
		over = r.Done || r.Failed && p.Phase != model.PodPhaseMissing && slices.Contains(Decide(w.s).Order, p.Name)
		return over, over
	}
	step, hold := Recheck(w.s, p.Name)
	switch {
	case p.Phase == model.PodPhaseTerminating:
		return false, false
	case hold != nil:
		w.say("%s is held by %s: %s", p.Name, hold.Rule, hold.Reason)
		return false, false
	case step == nil, step.Prepare == model.PrepareHandoff && claim.Prepare != model.PrepareHandoff,
		step.Action == model.ActionLowerPartition && claim.Action != model.ActionLowerPartition:
		return true, true
	}
	for _, o := range w.s.Pods { // pods that the partition would free with it go first
		if claim.Action == model.ActionLowerPartition && o.Ordinal > p.Ordinal && o.Ordinal < w.s.Pools[0].Partition && o.Revision == "v1" &&
			o.Phase != model.PodPhaseTerminating && !w.guarded {
			return false, false
		}
	}
	if away := w.unavailable(); p.Phase == model.PodPhaseReady && !slices.Contains(w.free(), p.Name) && away >= w.limit {
		w.wrong("%s goes, and %d are unavailable", p.Name, away)
	}
	p.Phase, p.Since, w.s.Cluster.Status.LastProgress = model.PodPhaseTerminating, w.s.Now, &model.Time{Time: w.s.Now.Time}
	if step.Partition != nil && *step.Partition < w.s.Pools[0].Partition {
		w.to(*step.Partition)
	}
	w.say("%s goes, the partition is at %d", p.Name, w.s.Pools[0].Partition)
	w.elect()
	return true, false
}

// pass is one pass of the coordinator: its claims, its partitions, new claims.
func (w *partitionWorld) pass() (acted bool) {
	claims := &w.s.Cluster.Status.Claims
	acted = w.pursueAll(w.pursue, func(did bool) {
		w.elect()
		for did && w.pace == 0 && w.turn() {
		}
	})
	plan := Decide(w.s)
	for _, l := range plan.Lines {
		old := slices.ContainsFunc(w.s.Pods, func(p model.Pod) bool { return p.Revision == "v1" })
		if old || l.Partition != model.FirstOrdinalNone || w.current == "v2" {
			w.say("the partition goes to %d", l.Partition)
			w.to(l.Partition)
			acted = true
		}
	}
	for _, step := range plan.Steps {
		if step.Action == model.ActionRestore || w.claimOf(step.Pod) >= 0 {
			continue
		}
		acted = true
		w.made++
		claim := model.Claim{ID: fmt.Sprint(w.made), Pod: step.Pod, UID: step.UID, Action: step.Action, Reason: step.Reason, Prepare: step.Prepare,
			To: "v2", Phase: model.PhaseDrained, BeforeTurn: step.BeforeTurn, Groups: map[string]int32{}, Broken: map[string]int32{}}
		for _, m := range w.s.Groups[0].Members {
			claim.Groups["data"] += int32(cluster.Count(m.State == model.MemberActive))
			claim.Broken["data"] += int32(cluster.Count(m.State != model.MemberActive && m.Pod == step.Pod))
		}
		claim.Unseen = claim.Groups["data"] == 0
		*claims = append(*claims, claim)
	}
	w.elect()
	return acted
}

// seen changes with everything but claims.
func (w *partitionWorld) seen() string {
	return fmt.Sprint(w.played.seen(), w.s.Pools[0].Partition, w.current)
}

// play plays until the rollout ends, or stands still although what is held for long is given up,
// and clocks go on.
func (w *partitionWorld) play() (ended bool) {
	w.until(w.seen, func() bool {
		acted := w.pass()
		if w.pace == 0 || w.pace == 2 || !acted {
			acted = w.turn() || acted
		}
		return acted
	}, w.elect)
	return w.fault == "" && Decide(w.s).Phase == model.ClusterDone && w.s.Pools[0].Partition == model.FirstOrdinalNone
}

// noRoom reports whether so many serving pods may not go now, because of the limit or because none
// would be left.
func (w *partitionWorld) noRoom(n int) bool {
	return w.unavailable()+n > w.limit || w.unavailable()+n >= len(w.s.Pods)
}

// asksPerson reports whether the world stands still, and the page says that only a person can end
// that. Without guards, a pod that the partition would free with a broken pod has no room in the
// budget, or may not go because a new pod has failed; nor is there one that may go before.
func (w *partitionWorld) asksPerson() bool {
	failed, between, broken := strings.IndexByte(w.pods, 'x'), 0, 0
	stuck := false // the lowest one that does not serve
	for i := len(w.s.Pods) - 1; i >= 0; i-- {
		p := &w.s.Pods[i]
		switch waits := p.Revision == "v1" && p.Ordinal < w.s.Pools[0].Partition && !w.guarded; {
		case p.Phase == model.PodPhaseReady:
			between += cluster.Count(waits)
		case p.Phase == model.PodPhaseMissing && w.ordered && failed >= 0 && failed < i && w.pods[i] == 'b':
			// It was broken before, and is recreated when the one below is repaired.
		case p.Phase != model.PodPhaseFailed:
			return false // it is to be created, or to start
		case p.Revision == "v2":
			stuck = true
		default:
			broken++
			stuck = waits && between > 0 && (failed >= 0 || w.noRoom(between))
			if !w.ordered && !(waits && between > 0) {
				return false // it goes by itself
			}
		}
	}
	if w.ordered {
		return stuck
	}
	return failed >= 0 || broken > 0 && w.noRoom(1)
}

// words returns all words of that length.
func words(letters string, length int) []string {
	if length == 0 {
		return []string{""}
	}
	var all []string
	for _, rest := range words(letters, length-1) {
		for _, l := range letters {
			all = append(all, rest+string(l))
		}
	}
	return all
}

// Whatever the state of a small pool that is driven by its partition, its rollout ends, or waits
// for something that only a person can do. On its way no more pods are unavailable than may be,
// except broken ones.
func TestSmallPoolsByPartitionEnd(t *testing.T) {
	faults := 0
	each := func(letters string, length, step int) {
		if os.Getenv("ROLLCALL_WORLDS") == "all" {
			step = 1
		}
		n := 0
		for _, pods := range words(letters, length) {
			for _, line := range []int32{model.FirstOrdinalNone, 3, 2, 1, 0} {
				for set := range 3 * 2 * 4 {
					pace := set / 6 // 3: with guards
					w := partitionWorld{pods: pods, line: line, limit: set%3 + 1, ordered: set/3%2 > 0, guarded: pace == 3, pace: pace % 3}
					if n++; n%step > 0 || faults > 5 || !race.Part(n/step, 15) {
						continue
					}
					if w.start(t); w.play() || w.fault == "" && w.asksPerson() {
						continue
					}
					faults++
					again := w
					again.log = &strings.Builder{}
					again.start(t)
					again.play()
					t.Errorf("%v:%s\n%s", &w, again.log, Decide(w.s).Text())
				}
			}
		}
	}
	each("uob", 4, 1)
	for _, letters := range []string{"obx", "obd", "obe", "obl", "oel"} {
		each(letters, 4, 17)
	}
	each("ob", 5, 7)
}
