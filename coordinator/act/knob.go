package act

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// undoShared is how long after its deletion a DatabaseCluster waits for pods
// that have gone before their settings are put back all the same.
const undoShared = 30 * time.Second

// Shared is a setting of the whole database that a claim's prepare will write.
type Shared struct {
	// Knob names it, in the engine's words; empty: there is none.
	Knob string
	// Undo is with what any agent can put it back.
	Undo []byte
}

// knob is what this process knows of one setting whose old value is recorded.
type knob struct {
	run run
	// begun: it is being put back, and nobody may rely on it any more.
	begun bool
	// lateUntil is until when an order to put it back whose answer was lost, ours or
	// a predecessor's, may still be carried out.
	lateUntil time.Time
}

// sharedBy is the record that lists a claim.
func sharedBy(status *v1alpha1.Status, claim string) *v1alpha1.SharedSetting {
	for i := range status.Shared {
		if slices.Contains(status.Shared[i].Claims, claim) {
			return &status.Shared[i]
		}
	}
	return nil
}

func sharedNamed(status *v1alpha1.Status, name string) *v1alpha1.SharedSetting {
	for i := range status.Shared {
		if status.Shared[i].Knob == name {
			return &status.Shared[i]
		}
	}
	return nil
}

// share adds a claim to the record of a setting, or begins one: only the first
// saves a value, the others would save what the first has changed.
func share(status *v1alpha1.Status, claim string, s Shared) {
	if record := sharedNamed(status, s.Knob); record != nil {
		if !slices.Contains(record.Claims, claim) {
			record.Claims = append(record.Claims, claim)
		}
		return
	}
	status.Shared = append(status.Shared, v1alpha1.SharedSetting{Knob: s.Knob, Undo: s.Undo, Claims: []string{claim}})
}

// queued says whether a claim's prepare waits for another that writes the same
// setting: those go one after the other, in the order of the record; and none
// joins those of which one is over, for then it is to be put back first.
func (a *Actor) queued(at Situation, claim model.Claim, r *run) bool {
	record := sharedBy(&at.Cluster.Status, claim.ID)
	joins := record == nil
	if joins {
		name := r.heard.Shared.Knob
		record = sharedNamed(&at.Cluster.Status, name)
		if k := a.knobs[name]; k != nil && (k.begun || at.Now.Before(k.lateUntil)) {
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
		other := claimByID(at.Cluster.Status.Claims, id)
		if other == nil || a.runs[id] == nil {
			if joins {
				return true
			}
			if other == nil {
				continue
			}
		}
		o := a.runs[id]
		if joins && (o.over || o.giveUp != "") {
			return true
		}
		if whereabouts(at.Snapshot, *other) == Here && (o == nil || !o.heard.Prepared) {
			return true
		}
	}
	return false
}

func claimByID(claims []model.Claim, id string) *model.Claim {
	for i := range claims {
		if claims[i].ID == id {
			return &claims[i]
		}
	}
	return nil
}

// noteOver notes whether a claim needs its setting no more: its pod's successor
// is live again, or has had the time that a start may take. A pod that terminates for that
// long may do so for ever, as on a dead node, and copies are to be made elsewhere.
func (a *Actor) noteOver(at Situation, c Case, r *run, out *Outcome) {
	r.over = false
	gone := c.Pod == Gone && c.Heard.Confirmed
	if !c.Listed || !gone && c.Pod != Leaving {
		return
	}
	since := r.wentAt
	if gone {
		if r.goneAt.IsZero() {
			r.goneAt = at.Now
		}
		since = r.goneAt
	}
	late := since.Add(time.Duration(at.Snapshot.Cluster.Spec.Policy.StartSeconds) * time.Second)
	if deleted := at.Cluster.DeletionTimestamp; deleted != nil && deleted.Add(undoShared).Before(late) {
		late = deleted.Add(undoShared)
	}
	switch needless := gone && (c.Rejoined || c.Claim.Action == model.Remove) || !at.Now.Before(late); {
	case !needless:
		out.wake(late)
	case at.Now.Before(r.mayWriteUntil()):
		out.wake(r.mayWriteUntil()) // its agent may be writing still, on a node that is cut off
	default:
		r.over = true
	}
}

// learnKnobs takes note of the records that there are. What a predecessor ordered
// last may still be carried out.
func (a *Actor) learnKnobs(at Situation) {
	status := &at.Cluster.Status
	for i := range status.Shared {
		record := &status.Shared[i]
		if a.knobs[record.Knob] != nil {
			continue
		}
		k := &knob{}
		if !slices.ContainsFunc(record.Claims, func(id string) bool { return a.shared[id] }) {
			k.lateUntil = at.Now.Add(callTimeout)
		}
		a.knobs[record.Knob] = k
	}
	maps.DeleteFunc(a.knobs, func(name string, k *knob) bool { return !k.run.busy && sharedNamed(status, name) == nil })
	maps.DeleteFunc(a.shared, func(id string, _ bool) bool {
		return sharedBy(status, id) == nil && claimByID(status.Claims, id) == nil
	})
}

// putBack restores the settings that nobody relies on any more, and then drops
// their records.
func (a *Actor) putBack(ctx context.Context, at Situation, out *Outcome) {
	for i := range at.Cluster.Status.Shared {
		record := &at.Cluster.Status.Shared[i]
		k := a.knobs[record.Knob]
		if !k.begun && !a.nobodyRelies(at, record, out) {
			if at.Now.Before(k.lateUntil) {
				out.wake(k.lateUntil) // others may join from then on
			}
			continue
		}
		k.begun = true
		if why := k.run.problem; why != "" {
			out.setting(record.Knob, why)
		}
		switch {
		case k.run.busy:
		case k.run.heard.Undone && at.Now.Before(k.lateUntil):
			out.wake(k.lateUntil)
		case k.run.heard.Undone:
			out.Edits.Unshare = append(out.Edits.Unshare, record.Knob)
		case at.Now.Before(k.run.retryAt):
			out.wake(k.run.retryAt)
		default:
			a.startPuttingBack(ctx, at, *record.DeepCopy(), k)
		}
	}
}

// nobodyRelies: every listed claim is released, or needs the setting no more.
func (a *Actor) nobodyRelies(at Situation, record *v1alpha1.SharedSetting, out *Outcome) bool {
	for _, s := range out.Edits.Share {
		if s.Knob == record.Knob {
			return false
		}
	}
	for _, id := range record.Claims {
		if claimByID(at.Cluster.Status.Claims, id) == nil {
			continue
		}
		if r := a.runs[id]; r == nil || !r.over {
			return false
		}
	}
	return true
}

func (a *Actor) startPuttingBack(ctx context.Context, at Situation, record v1alpha1.SharedSetting, k *knob) {
	k.run.busy = true
	targets := restorers(at.Snapshot, k.run.errors)
	by := a.options.Agents.RestoreShared
	if len(targets) == 0 && unattended(at.Snapshot) {
		targets = rotated(serving(at.Snapshot), k.run.errors)
		by = func(ctx context.Context, pod Target, shared Shared, _ int64, notAfter time.Time) (bool, error) {
			return a.options.Agents.RestoreUnaided(ctx, pod, shared, notAfter)
		}
	}
	a.running.Go(func() {
		done, err := a.restoreShared(ctx, at, record, targets, by)
		ended := time.Now()
		a.tell(func() {
			k.run.busy = false
			a.outrun(err)
			switch {
			case err != nil:
				a.log.Warn("a setting of the whole database is not put back yet", "knob", record.Knob, "error", err)
				k.run.failed(err)
				k.lateUntil = ended.Add(callTimeout)
			case done:
				a.log.Info("a setting of the whole database is put back", "knob", record.Knob)
				k.run.succeeded()
				k.run.heard.Undone = true
				a.putBacks++
			default:
				k.run.succeeded()
				k.run.retryAt = ended.Add(pollEvery)
			}
		})
	})
}

// restorer puts a setting back through one pod.
type restorer func(ctx context.Context, pod Target, shared Shared, epoch int64, notAfter time.Time) (done bool, err error)

func (a *Actor) restoreShared(ctx context.Context, at Situation, record v1alpha1.SharedSetting, targets []Target, by restorer) (done bool, err error) {
	shared, notAfter := Shared{Knob: record.Knob, Undo: record.Undo}, time.Now().Add(callTimeout)
	return a.throughOne(ctx, at, fmt.Sprintf("put %s back", record.Knob), targets, func(ctx context.Context, target Target) (bool, error) {
		return by(ctx, target, shared, a.options.Epoch, notAfter)
	})
}

// throughOne has one pod after the other try something, until one has answered; each has
// its share of the time. A former leader asks nobody.
func (a *Actor) throughOne(ctx context.Context, at Situation, what string, targets []Target, try func(context.Context, Target) (bool, error)) (done bool, err error) {
	bounded, cancel := a.bound(ctx)
	err = a.stillLeads(bounded, at)
	cancel()
	switch {
	case errors.Is(err, errDeposed):
		a.depose()
		return false, err
	case err != nil && !errors.Is(err, errChanged):
		return false, err
	}
	err = errors.New("no agent is there to " + what)
	for _, target := range targets {
		bounded, cancel := context.WithTimeout(ctx, callTimeout/time.Duration(len(targets)))
		done, err = try(bounded, target)
		cancel()
		if err == nil {
			return done, nil
		}
		err = fmt.Errorf("%s through %s: %w", what, target.Pod, err)
		if errors.Is(err, ErrStaleEpoch) {
			return false, err
		}
	}
	return false, err
}

// restorers are the agents that may put a setting back.
func restorers(s model.Snapshot, failures int) []Target { return rotated(living(s), failures) }

// rotated are three of all. Some may be too old, or not answer: after each failure
// others are the first.
func rotated(all []Target, failures int) []Target {
	const most = 3
	if len(all) <= most {
		return all
	}
	first := failures * most % len(all)
	return slices.Concat(all[first:], all[:first])[:most]
}

// serving are the pods that a database can be asked through that has no agents.
func serving(s model.Snapshot) []Target {
	var out []Target
	for i := range s.Pods {
		if pod := &s.Pods[i]; pod.UID != "" && pod.Phase == model.Ready {
			out = append(out, Target{Pod: pod.Name, UID: pod.UID})
		}
	}
	return out
}

func living(s model.Snapshot) []Target {
	var out []Target
	for i := range s.Pods {
		pod := &s.Pods[i]
		if pod.Agent && pod.UID != "" && pod.Phase == model.Ready && pod.Report != nil && pod.Report.Member == model.Live {
			out = append(out, Target{Pod: pod.Name, UID: pod.UID})
		}
	}
	return out
}
