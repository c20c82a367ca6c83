package rollout

import (
	"maps"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// setting is what this coordinator knows about one cluster setting whose old value is recorded.
type setting struct {
	retry
	// restored is true if an agent has restored it.
	restored bool
	// begun is true if it is being restored, so that no claim may rely on it any more.
	begun bool
	// lateUntil is the time until which a lost order to restore it, ours or a predecessor's, may
	// still be carried out.
	lateUntil time.Time
}

// settingOfClaim returns the record that lists a claim.
func settingOfClaim(status *Record, claim string) *model.ClusterSetting {
	for i := range status.ClusterSettings {
		if slices.Contains(status.ClusterSettings[i].Claims, claim) {
			return &status.ClusterSettings[i]
		}
	}
	return nil
}

func settingNamed(status *Record, name string) *model.ClusterSetting {
	for i := range status.ClusterSettings {
		if status.ClusterSettings[i].Name == name {
			return &status.ClusterSettings[i]
		}
	}
	return nil
}

// recordSetting adds a claim to the record of a setting, or begins one. Only the first claim saves
// a value; the others would save what the first has changed.
func recordSetting(status *Record, claim string, s effect.ClusterSetting) {
	if record := settingNamed(status, s.Name); record != nil {
		if !slices.Contains(record.Claims, claim) {
			record.Claims = append(record.Claims, claim)
		}
		return
	}
	status.ClusterSettings = append(status.ClusterSettings, model.ClusterSetting{Name: s.Name, Undo: s.Undo, Claims: []string{claim}})
}

// queued reports whether a claim's drain waits for another that writes the same setting. These
// drains go one after the other, in the order of the record. No claim joins a record of which one
// claim is over, because the setting must be restored first.
func (a *step) queued(claim model.Claim, r *attempt) bool {
	record := settingOfClaim(&a.Record, claim.ID)
	joins := record == nil
	if joins {
		name := r.known.Setting.Name
		record = settingNamed(&a.Record, name)
		if k := a.s.settings[name]; k != nil && (k.begun || a.now.Before(k.lateUntil)) {
			return true
		}
	}
	if record == nil {
		return false
	}
	for _, id := range record.Claims {
		if id == claim.ID {
			return false
		}
		other := claimByID(a.Record.Claims, id)
		if other == nil || a.s.attempts[id] == nil {
			if joins {
				return true
			}
			if other == nil {
				continue
			}
		}
		o := a.s.attempts[id]
		if joins && (o.settingReleased || o.giveUp != "") {
			return true
		}
		if presenceOf(a.Snapshot, *other) == PodPresent && (o == nil || o.known.Drained == NotDrained) {
			return true
		}
	}
	return false
}

// noteSettingReleased notes whether a claim no longer needs its setting: the recreated pod is live
// again, or has had the time that a start may take. A pod that has been terminating for that long
// may do so for ever, as on a dead node, and its copies should be made elsewhere.
func (a *step) noteSettingReleased(c Case, r *attempt) {
	r.settingReleased = false
	gone := c.Pod == PodGone && c.Known.GoneConfirmed
	if !c.SettingRecorded || !gone && c.Pod != PodTerminating {
		return
	}
	since := r.wentAt
	if gone {
		if r.goneAt.IsZero() {
			r.goneAt = a.now
		}
		since = r.goneAt
	}
	late := since.Add(time.Duration(a.Snapshot.Cluster.Spec.Policy.StartSeconds) * time.Second)
	if deleted := a.Object.DeletionTimestamp; !deleted.IsZero() && deleted.Add(undoSettings).Before(late) {
		late = deleted.Add(undoSettings)
	}
	switch needless := gone && (c.Rejoined || c.Claim.Action == model.ActionRemove) || !a.now.Before(late); {
	case !needless:
		a.out.wake(late)
	case a.now.Before(r.mayWriteUntil()):
		a.out.wake(r.mayWriteUntil()) // its agent may still be writing, on a node that is cut off
	default:
		r.settingReleased = true
	}
}

// learnSettings notes which records exist. The last order of a predecessor may still be carried
// out.
func (a *step) learnSettings() {
	status := &a.Record
	for i := range status.ClusterSettings {
		record := &status.ClusterSettings[i]
		if a.s.settings[record.Name] != nil {
			continue
		}
		k := &setting{}
		if !slices.ContainsFunc(record.Claims, func(id string) bool { return a.s.recorded[id] }) {
			k.lateUntil = a.now.Add(effect.CallTimeout)
		}
		a.s.settings[record.Name] = k
	}
	maps.DeleteFunc(a.s.settings, func(name string, k *setting) bool { return !k.busy && settingNamed(status, name) == nil })
	maps.DeleteFunc(a.s.recorded, func(id string, _ bool) bool {
		return settingOfClaim(status, id) == nil && claimByID(status.Claims, id) == nil
	})
}

// restoreSettings restores the settings that no claim relies on any more, and then drops their
// records.
func (a *step) restoreSettings() {
	for i := range a.Record.ClusterSettings {
		record := &a.Record.ClusterSettings[i]
		k := a.s.settings[record.Name]
		if !k.begun && !a.nobodyRelies(record) {
			if a.now.Before(k.lateUntil) {
				a.out.wake(k.lateUntil) // other claims may join from then on
			}
			continue
		}
		k.begun = true
		if why := k.problem; why != "" {
			a.out.setting(record.Name, why)
		}
		switch {
		case k.busy:
		case k.restored && a.now.Before(k.lateUntil):
			a.out.wake(k.lateUntil)
		case k.restored:
			a.out.Edits.ForgetSettings = append(a.out.Edits.ForgetSettings, record.Name)
		case a.now.Before(k.retryAt):
			a.out.wake(k.retryAt)
		default:
			a.startRestoring(record, k)
		}
	}
}

// nobodyRelies reports whether every listed claim is released or no longer needs the setting.
func (a *step) nobodyRelies(record *model.ClusterSetting) bool {
	for _, s := range a.out.Edits.RecordSetting {
		if s.Name == record.Name {
			return false
		}
	}
	for _, id := range record.Claims {
		if claimByID(a.Record.Claims, id) == nil {
			continue
		}
		if r := a.s.attempts[id]; r == nil || !r.settingReleased {
			return false
		}
	}
	return true
}

func (a *step) startRestoring(record *model.ClusterSetting, k *setting) {
	k.busy = true
	e := effect.RestoreSetting{Setting: effect.ClusterSetting{Name: record.Name, Undo: record.Undo}, Targets: restorers(a.Snapshot, k.errors), Expected: a.expected()}
	if len(e.Targets) == 0 && withoutAgents(a.Snapshot) {
		e.Targets, e.ByCoordinator = rotated(serving(a.Snapshot), k.errors), true
	}
	a.effect(e)
}

func (a *step) learnSettingRestored(res effect.SettingRestored) {
	a.noteSuperseded(res.Err)
	k := a.s.settings[res.Name]
	if k == nil {
		return
	}
	k.busy = false
	switch {
	case res.Err != nil:
		a.out.warn("cluster setting not restored yet", "setting", res.Name, "error", res.Err)
		k.failed(a.now, res.Err)
		k.lateUntil = res.Ended.Add(effect.CallTimeout)
	case res.Done:
		a.out.info("cluster setting restored", "setting", res.Name)
		k.succeeded()
		k.restored = true
		a.s.restored++
	default:
		k.succeeded()
		k.retryAt = res.Ended.Add(pollEvery)
	}
}

// restorers returns the agents that may restore a setting.
func restorers(s model.Snapshot, failures int) []effect.Target { return rotated(living(s), failures) }

// rotated returns three of all agents. Some may be too old or not answer, so after each failure
// others come first.
func rotated(all []effect.Target, failures int) []effect.Target {
	const most = 3
	if len(all) <= most {
		return all
	}
	first := failures * most % len(all)
	return slices.Concat(all[first:], all[:first])[:most]
}
