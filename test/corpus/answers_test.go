package corpus

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// answers is everything the policy says about a snapshot.
type answers struct {
	Plan   model.Plan    `json:"plan"`
	Claims []claimAnswer `json:"claims,omitempty"`
	// Explained has every rule that holds a pod, for up to three held pods.
	Explained map[string][]model.Hold `json:"explained,omitempty"`
	Lists     lists                   `json:"lists"`
}

// claimAnswer is what the policy says about an open claim.
type claimAnswer struct {
	Pod     string  `json:"pod"`
	Recheck recheck `json:"recheck"`
	// Unclaimed is Recheck without the claim.
	Unclaimed  recheck  `json:"unclaimed"`
	Returned   returned `json:"returned"`
	Successors []string `json:"successors,omitempty"`
}

type recheck struct {
	Step *model.Step `json:"step"`
	Hold *model.Hold `json:"hold"`
}

type returned struct {
	Done              bool       `json:"done"`
	Joined            bool       `json:"joined"`
	Failed            bool       `json:"failed"`
	Why               model.Hold `json:"why"`
	RetryAfterSeconds int64      `json:"retryAfterSeconds"`
}

// lists holds the answers that name pods or pools.
type lists struct {
	Forbidden    bool     `json:"forbidden,omitempty"`
	Replacements []string `json:"replacements,omitempty"`
	ForceDeletes []string `json:"forceDeletes,omitempty"`
	YetToFollow  []string `json:"yetToFollow,omitempty"`
	LostCanaries []string `json:"lostCanaries,omitempty"`
	Absent       []string `json:"absent,omitempty"`
}

// answer asks the policy about a snapshot, and to explain the given pods.
func answer(s model.Snapshot, explain []string) answers {
	a := answers{Plan: policy.Decide(s), Explained: map[string][]model.Hold{}, Lists: listsOf(s)}
	for _, claim := range s.Cluster.Status.Claims {
		r := policy.Returned(s, claim)
		a.Claims = append(a.Claims, claimAnswer{
			Pod: claim.Pod, Recheck: asked(s, claim.Pod), Unclaimed: asked(without(s, claim), claim.Pod),
			Returned:   returned{Done: r.Done, Joined: r.Joined, Failed: r.Failed, Why: r.Why, RetryAfterSeconds: r.RetryAfterSeconds},
			Successors: policy.Successors(s, claim.Pod),
		})
	}
	for _, pod := range explain {
		a.Explained[pod] = policy.Explain(s, pod)
	}
	return a
}

func asked(s model.Snapshot, pod string) recheck {
	step, hold := policy.Recheck(s, pod)
	return recheck{Step: step, Hold: hold}
}

// without is the snapshot without a claim.
func without(s model.Snapshot, claim model.Claim) model.Snapshot {
	s.Cluster.Status.Claims = slices.DeleteFunc(slices.Clone(s.Cluster.Status.Claims), func(c model.Claim) bool { return c.ID == claim.ID })
	return s
}

func listsOf(s model.Snapshot) lists {
	l := lists{Forbidden: policy.Forbidden(&s) != "", Replacements: policy.Replacements(s), YetToFollow: policy.YetToFollow(s)}
	for _, pod := range policy.ForceDeletes(s) {
		l.ForceDeletes = append(l.ForceDeletes, pod.Name)
	}
	lost := policy.LostCanaries(s)
	for _, pool := range slices.Sorted(maps.Keys(lost)) {
		if lost[pool] {
			l.LostCanaries = append(l.LostCanaries, pool)
		}
	}
	for _, absence := range policy.UnavailablePods(s) {
		l.Absent = append(l.Absent, absence.Pod)
	}
	return l
}

// tree converts a value to its generic JSON form.
func tree(t testing.TB, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	var out any
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}
