package progress

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// A wait is one thing for which a rollout waits: a hold of the plan, progress of a claim, or the
// restoring of a cluster setting. Its key stays the same as long as the wait does.

// HoldKey is the key of a hold.
func HoldKey(h model.Hold) string { return string(h.Rule) }

// ClaimKey is the key of an open claim.
func ClaimKey(c model.Claim) string { return c.ID + " " + string(c.Phase) }

// SettingKey is the key of a cluster setting.
func SettingKey(name string) string { return "setting " + name }

// WaitKeys returns the keys of all waits that no person or clock has asked for.
func WaitKeys(m *Moment) []string {
	var keys []string
	for _, h := range Held(m) {
		keys = append(keys, HoldKey(h))
	}
	for _, c := range m.Claims {
		keys = append(keys, ClaimKey(c))
	}
	for name := range m.Settings {
		keys = append(keys, SettingKey(name))
	}
	return keys
}

// Held returns the holds of the plan that no person or clock has asked for, and that do not just
// stand for a claim. A canary counts while its own pods are not back.
func Held(m *Moment) []model.Hold {
	var held []model.Hold
	lost := lostCanaries(m)
	for _, h := range m.Plan.Holds {
		canary := h.Rule == model.RuleCanary && lost[h.Pod]
		if h.Rule == model.RuleClaimed || h.Rule == model.RuleTerminating || policy.OnRequest(h.Rule) && !canary {
			continue
		}
		held = append(held, h)
	}
	return held
}

// lostCanaries returns the pods that a canary holds whose own pods are not back.
func lostCanaries(m *Moment) map[string]bool {
	pods := map[string]bool{}
	if !slices.ContainsFunc(m.Plan.Holds, func(h model.Hold) bool { return h.Rule == model.RuleCanary }) {
		return pods
	}
	pools := policy.LostCanaries(m.Snapshot)
	for i := range m.Snapshot.Pods {
		pods[m.Snapshot.Pods[i].Name] = pools[m.Snapshot.Pods[i].Pool]
	}
	return pods
}
