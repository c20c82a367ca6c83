package rollout

import (
	"maps"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// barrierOf is the barrier of a claimed pod. A pod whose database does not run need
// not speak for itself: its agent may not have started either. One that is said to be
// broken while it runs must: it may have been slow, and be well again. So must one that is
// not shown as started and whose agent speaks: what is shown may be late.
func barrierOf(s model.Snapshot, claim model.Claim) effect.Barrier {
	var b effect.Barrier
	agents := map[string]effect.Target{}
	claimed := podNamed(s, claim.Pod)
	byOthers := replaces(claim) && claimed != nil && claimed.UID == claim.UID && !hasAgent(claimed)
	for i := range s.Pods {
		pod := &s.Pods[i]
		if !pod.Agent || pod.UID == "" || pod.Phase == model.Terminating || pod.Phase == model.Missing {
			continue
		}
		target := effect.Target{Pod: pod.Name, UID: pod.UID}
		if pod.UID == claim.UID {
			if (runs(pod) || speaks(pod)) && !byOthers {
				b.Own = &target
			}
			continue
		}
		if pod.Phase == model.Ready {
			agents[pod.Name] = target
		}
	}
	for _, group := range s.Groups {
		if !slices.ContainsFunc(group.Members, func(m model.Member) bool { return m.Pod == claim.Pod }) {
			continue
		}
		var speak []string
		for _, member := range group.Members {
			if target, ok := agents[member.Pod]; ok && !slices.Contains(speak, target.Pod) {
				speak = append(speak, target.Pod)
				if !slices.Contains(b.Witnesses, target) {
					b.Witnesses = append(b.Witnesses, target)
				}
			}
		}
		if len(speak) > 0 {
			b.Groups = append(b.Groups, speak)
		}
	}
	if byOthers {
		// Nobody need see a member of it, and somebody must have looked.
		b.Witnesses, b.Groups = slices.Collect(maps.Values(agents)), append(b.Groups, slices.Sorted(maps.Keys(agents)))
	}
	slices.SortFunc(b.Witnesses, func(x, y effect.Target) int { return strings.Compare(x.Pod, y.Pod) })
	return b
}

// broken says whether a claim is for a pod that cannot be asked or prepared.
func broken(claim model.Claim) bool {
	return claim.Reason == model.ReasonNeverStarted || claim.Reason == model.ReasonFailed
}

// runs says whether a pod's database runs, so that its agent has something to say. Of
// a container that dies again and again, and of which no agent has spoken, that is no
// more than the kubelet starting it once more.
func runs(pod *model.Pod) bool {
	switch pod.Phase {
	case model.Pending, model.NotStarted, model.Failed:
		return false
	case model.Started:
		looping := pod.Problem == model.CrashLoop || pod.Problem == model.StartupProbe
		return !looping || pod.Report != nil
	}
	return true
}

// speaks says whether the agent of a pod that has not been shown as started says what the pod is
// to the database. The database may have started since, and be a member by now.
func speaks(pod *model.Pod) bool {
	if pod.Phase != model.Pending && pod.Phase != model.NotStarted {
		return false
	}
	r := pod.Report
	return r != nil && r.Self && r.Fresh && r.UID == pod.UID && r.Member != model.UnknownMember
}
