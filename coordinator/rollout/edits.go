package rollout

import (
	"maps"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// edit carries out a move that only changes the status. It returns false for other moves.
func (a *step) edit(claim model.Claim, r *attempt, c Case, move Move) bool {
	edits := &a.out.Edits
	switch move {
	case MoveWait:
	case MoveRecordDrain:
		if len(r.known.Undo) > 0 || r.known.Setting.Name != "" {
			edits.Undo[claim.ID] = r.known.Undo
		}
		if len(r.known.Volumes) > 0 && len(claim.Volumes) == 0 {
			edits.Volumes[claim.ID] = r.known.Volumes
		}
		if r.known.Setting.Name != "" {
			edits.RecordSetting[claim.ID], a.s.recorded[claim.ID] = r.known.Setting, true
		}
	case MoveRecordEmpty:
		edits.Emptied[claim.ID] = model.At(a.now)
	case MoveFollowSuccessor:
		if r.busy {
			break // the effect under way is about the pod that has gone
		}
		edits.Successors[claim.ID] = r.known.Successor
		delete(a.s.attempts, claim.ID) // what is known about the old pod does not hold for the recreated one
		a.s.made[claim.ID] = false
	case MoveRelease:
		if r.backoff != "" && c.Pod == PodPresent {
			a.leaveAlone(claim.UID, r.backoff, r.giveUp)
			r.backoff = ""
		}
		if away, ok := r.finished(a.now); ok && c.Returned {
			a.out.Downtimes = append(a.out.Downtimes, progress.Downtime{Pod: claim.Pod, Lasted: away})
		}
		edits.Drop = append(edits.Drop, claim.ID)
		if r.known.UndoDeferred && len(claim.Undo) > 0 {
			edits.RecordPendingRestores = append(edits.RecordPendingRestores, model.PendingRestore{Claim: claim.ID, Pod: claim.Pod, Undo: claim.Undo})
		}
	default:
		return false
	}
	return true
}

// Edits are changes of a DatabaseCluster's status that a step asks for. They are carried out by
// compare-and-swap on the very object that was decided on, or not at all. The next step asks again
// for what is still needed.
type Edits struct {
	// Add are new claims.
	Add []model.Claim
	// Undo maps claims to what their agents answered.
	Undo map[string][]byte
	// RecordSetting maps claims to the cluster setting that their drain will write. It is written
	// together with their Undo.
	RecordSetting map[string]effect.ClusterSetting
	// ForgetSettings are the settings that have been restored.
	ForgetSettings []string
	// Volumes maps claims to their pod's own volume claims.
	Volumes map[string][]model.VolumeClaim
	// Emptied maps claims to the time at which nothing was left on their pod.
	Emptied map[string]model.Time
	// Successors maps claims to the UID of the pod that they are for from now on.
	Successors map[string]string
	// Phase maps claims to their new phase.
	Phase map[string]model.ClaimPhase
	// Drop are claims that have ended.
	Drop []string
	// RecordPendingRestores is what ended claims leave to be undone. ForgetPendingRestores are the
	// claims of which that is done.
	RecordPendingRestores []model.PendingRestore
	ForgetPendingRestores []string
}

// Urgent reports whether something waits for the edits to be written. Phases alone are for people
// and go with the next write.
func (e Edits) Urgent() bool {
	return len(e.Add)+len(e.Undo)+len(e.Drop)+len(e.ForgetSettings)+len(e.Volumes)+len(e.Emptied)+len(e.Successors)+len(e.ForgetPendingRestores) > 0
}

// Apply applies the edits to a status.
func (e Edits) Apply(status *Record) {
	kept := make([]model.Claim, 0, len(status.Claims)+len(e.Add))
	for _, claim := range status.Claims {
		if slices.Contains(e.Drop, claim.ID) {
			continue
		}
		if undo, ok := e.Undo[claim.ID]; ok {
			claim.Undo = undo
		}
		if volumes, ok := e.Volumes[claim.ID]; ok {
			claim.Volumes = volumes
		}
		if phase, ok := e.Phase[claim.ID]; ok {
			claim.Phase = phase
		}
		if at, ok := e.Emptied[claim.ID]; ok {
			claim.EmptiedAt, claim.Phase = &at, model.PhaseEmptied
		}
		if uid, ok := e.Successors[claim.ID]; ok {
			follow(&claim, uid)
		}
		kept = append(kept, claim)
	}
	status.Claims = append(kept, e.Add...)
	status.ClusterSettings = slices.DeleteFunc(slices.Clone(status.ClusterSettings), func(s model.ClusterSetting) bool { return slices.Contains(e.ForgetSettings, s.Name) })
	status.PendingRestores = slices.DeleteFunc(slices.Concat(status.PendingRestores, e.RecordPendingRestores), func(l model.PendingRestore) bool { return slices.Contains(e.ForgetPendingRestores, l.Claim) })
	if len(status.PendingRestores) == 0 {
		status.PendingRestores = nil
	}
	for _, id := range slices.Sorted(maps.Keys(e.RecordSetting)) {
		recordSetting(status, id, e.RecordSetting[id])
	}
	if len(status.ClusterSettings) == 0 {
		status.ClusterSettings = nil
	}
}

// follow transfers a claim to the pod that was recreated on the same volumes, which must still be
// deleted. What was excluded stays excluded. Volumes that were seen empty stay recorded, and others
// are looked up again.
func follow(claim *model.Claim, uid string) {
	claim.UID, claim.Phase, claim.PodResourceVersion = uid, model.PhaseEmptied, ""
	if !committed(*claim) {
		claim.Phase, claim.Volumes = model.PhaseClaimed, nil
	}
}

func newEdits() Edits {
	return Edits{Undo: map[string][]byte{}, RecordSetting: map[string]effect.ClusterSetting{}, Phase: map[string]model.ClaimPhase{},
		Volumes: map[string][]model.VolumeClaim{}, Emptied: map[string]model.Time{}, Successors: map[string]string{}}
}

// remaining returns the claims that are not dropped.
func remaining(claims []model.Claim, drop []string) []model.Claim {
	return slices.DeleteFunc(slices.Clone(claims), func(c model.Claim) bool { return slices.Contains(drop, c.ID) })
}
