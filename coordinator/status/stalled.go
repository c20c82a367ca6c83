package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

// Wait is one thing for which a rollout waits: a hold of the plan, or progress of a claim.
type Wait struct {
	model.Hold
	// Key stays the same as long as the wait does.
	Key string
	// rank puts waits that merely follow from others last.
	rank int
}

// Ranks of waits: first what stops all pods, then each pod's own reasons and the claims, then what
// passes by itself when one of those ends.
const (
	stopsAll = iota
	ownReason
	follows
)

// Waits returns everything that a decision waits for and that no person or clock has asked for, in
// the order of the plan, claims last.
func Waits(d Decision) []Wait {
	waits := ruleWaits(d)
	var behind []string
	if len(d.Claims) > 0 {
		behind = policy.YetToFollow(d.Snapshot)
	}
	for _, c := range d.Claims {
		w := Wait{Hold: claimWait(d, c), Key: progress.ClaimKey(c), rank: ownReason}
		if pod, _ := d.Pod(c.Pod); len(behind) > 0 && progress.HasGone(c, pod.UID) {
			// It is not half of a database that it could join.
			w.rank = follows
			w.Reason += "; the outage has begun, and has yet to take " + few(behind)
			w.Unblocks = "all others gone, too"
		}
		waits = append(waits, w)
	}
	return append(waits, settingWaits(d)...)
}

// reasonSetting is the reason of a stall because a setting is not restored.
const reasonSetting = "SettingNotRestored"

// settingWaits returns the settings that are still as drains have left them.
func settingWaits(d Decision) []Wait {
	var waits []Wait
	for _, setting := range slices.Sorted(maps.Keys(d.Settings)) {
		waits = append(waits, Wait{Key: progress.SettingKey(setting), rank: ownReason, Hold: model.Hold{Rule: reasonSetting,
			Reason:   fmt.Sprintf("%s is still as a restart has set it, and could not be put back: %s", setting, d.Settings[setting]),
			Unblocks: "a live pod with an agent, or the setting put back by hand"}})
	}
	return waits
}

// ruleWaits returns the waits for rules of the plan.
func ruleWaits(d Decision) []Wait {
	var waits []Wait
	for _, h := range progress.Held(&d.Moment) {
		w := Wait{Hold: h, Key: progress.HoldKey(h), rank: ownReason}
		switch {
		case h.Rule == model.RuleCanary && policy.OnRequest(h.Rule), Passing(h.Rule): // a claim on the pod of a canary says more
			w.rank = follows
		case h.Pod == "":
			w.rank = stopsAll
		}
		waits = append(waits, w)
	}
	return waits
}

// claimWait returns what keeps a claim from making progress.
func claimWait(d Decision, c model.Claim) model.Hold {
	if why := d.Waiting[c.Pod]; why != "" && c.Action == model.ActionReplace {
		return model.Hold{Pod: c.Pod, Rule: model.RuleClaimed, Reason: claimWords(d, c) + ": " + why}
	}
	if pod, _ := d.Pod(c.Pod); c.Phase == model.PhaseOpened || progress.HasGone(c, pod.UID) {
		if r := policy.Returned(d.Snapshot, c); !r.Done {
			if why := d.Waiting[c.Pod]; strings.HasPrefix(why, r.Why.Reason) {
				r.Why.Reason = why // and why the drain is not undone
			}
			return r.Why
		}
	} else if _, hold := policy.Recheck(d.Snapshot, c.Pod); hold != nil {
		return *hold
	}
	reason := claimWords(d, c)
	if why := d.Waiting[c.Pod]; why != "" {
		reason += ": " + why
	}
	return model.Hold{Pod: c.Pod, Rule: model.RuleClaimed, Reason: reason}
}

// longestWait returns the wait that a person should look at when nothing has got better for too
// long: of the waits of the first existing rank, the one that has lasted longest. Waits whose
// beginning is not known come in the order of the plan.
func longestWait(d Decision) (Wait, bool) {
	waits := Waits(d)
	if len(waits) == 0 {
		return Wait{}, false
	}
	since := func(w Wait) time.Time {
		if at, known := d.HeldSince[w.Key]; known {
			return at
		}
		return d.DecidedAt
	}
	return slices.MinFunc(waits, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), since(a).Compare(since(b)))
	}), true
}

// Stall is what everything that shows a stalled rollout says about it: condition, Event, status,
// explanation, page, metric.
type Stall struct {
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

// StallOf returns nil unless the rollout is stalled.
func StallOf(d Decision) *Stall {
	if d.Phase != model.ClusterStalled {
		return nil
	}
	rule, message := whyStalled(d)
	return &Stall{Rule: rule, Message: message}
}

// whyStalled returns the rule that has held longest, for how long, and what a person can do.
func whyStalled(d Decision) (reason, message string) {
	w, waits := longestWait(d)
	if !waits {
		return reasonStalled, fmt.Sprintf("%d of %d pods updated, and nothing holds the others: see the coordinator's log", d.Pods.Updated, d.Pods.Desired)
	}
	message = w.Reason
	if w.Pod != "" {
		message = w.Pod + ": " + w.Reason
	}
	if at, known := d.HeldSince[w.Key]; known && d.DecidedAt.After(at) {
		message += ", for " + Age(d.DecidedAt.Sub(at))
	}
	if w.Unblocks != "" {
		message += "; unblocked by: " + w.Unblocks
	}
	return string(w.Rule), message
}
