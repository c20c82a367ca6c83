package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// A pod that is replaced comes back under its name with fresh data. Its agent
// moves everything off it; the database itself, asked through the pod and through
// others, has nothing left on it; that is written down; its volume claims are
// deleted, which Kubernetes carries out once the pod is gone; the pod is removed;
// and what kept data away from it is undone only when its successor is seen on
// volume claims of its own.

// renewEvery is how often the API server is asked for new volume claims.
const renewEvery = time.Second

// refuseReplacements notes of every pod that should be replaced and has nobody
// who could empty it, or say that it is empty. The policy then holds such pods in words, and what they
// would have taken of a budget is there for others.
func (a *Actor) refuseReplacements(s *model.Snapshot) {
	wanted := map[string]bool{}
	for _, name := range policy.Replacements(*s) {
		wanted[name] = true
	}
	for i := range s.Pods {
		pod := &s.Pods[i]
		nobodyEmpties := !hasAgent(pod) && !a.emptiedByOthers(pod)
		nobodySays := !othersHaveAgents(*s, pod.Name) && !isWrittenEmpty(*s, pod)
		if wanted[pod.Name] && (nobodyEmpties || nobodySays) {
			pod.Refused = model.Vetoed
		}
	}
}

// notEmpty says what the database still has on a claimed pod, or why nobody knows;
// empty when there is nothing. It asks the pod's own agent and all others, as far
// as they are fresh: the snapshot has every copy that any of them knows of, and
// one in whatever state is data. A pod whose member is away cannot look by itself:
// then its agent must say that it is empty, or the one that emptied it have said so
// (byOthers), and its name in the database be certain, or what others see there would
// look like somebody else's. Where no other pod has an agent any more, the pod's own look is
// enough for a claim that says that it is empty, as others said when that was written: they
// wait for that claim to be adopted.
func notEmpty(s model.Snapshot, claim model.Claim, names map[string]string, byOthers bool) string {
	own, others, members := "its own agent has not looked since", 0, 0
	looked := false
	if byOthers {
		if own = ""; names[claim.Pod] == "" {
			own = nameUnknown
		}
	}
	for i := range s.Pods {
		pod := &s.Pods[i]
		r := pod.Report
		spoke := r != nil && r.Self && r.Fresh && r.Member == model.Live
		switch {
		case pod.UID != claim.UID:
			if spoke {
				others++
			}
		case spoke:
			own, looked = "", true
		case r != nil && r.Self && r.Fresh && r.Member == model.NotLive && r.Drain == model.DrainPrepared && names[claim.Pod] != "":
			own = ""
		case r != nil && r.Self && r.Fresh:
			own = "the database does not have it as a member, and so cannot say what is on it"
		}
	}
	if own != "" {
		return own
	}
	if alone := claim.EmptiedAt != nil && looked && onlyAgent(s, claim.Pod); others == 0 && !alone {
		return "no other member of the database has looked since"
	}
	first := ""
	for _, group := range s.Groups {
		if group.Kind != model.Shard && group.Kind != model.Quorum {
			continue // nothing of these is lost with a volume
		}
		for _, m := range group.Members {
			if m.Pod != claim.Pod {
				continue
			}
			if members++; first == "" {
				first = fmt.Sprintf("%s has a member on it that is %s", group.ID, m.State)
			}
		}
	}
	if members > 1 {
		first += fmt.Sprintf(", and %d more have", members-1)
	}
	return first
}

// find looks for the pod's own volume claims, before anything is moved: where they
// may not be deleted, nothing is begun.
func (a *Actor) find(ctx context.Context, claim model.Claim) func(*run) {
	ctx, cancel := a.bound(ctx)
	defer cancel()
	seen, err := a.pods.read(ctx, claim.Pod, claim.UID)
	var volumes []model.VolumeClaim
	if err == nil {
		volumes, err = a.volumes.find(ctx, seen)
	}
	return func(r *run) {
		switch {
		case errors.Is(err, errMayNot) && !committed(claim):
			r.abandon(err.Error(), model.Vetoed)
		case err != nil:
			r.failed(err)
		default:
			r.succeeded()
			r.heard.Found, r.heard.Volumes = true, volumes
		}
	}
}

// discard deletes the claimed volumes, which are written down as empty, while the
// pod is still the one that was emptied.
func (a *Actor) discard(ctx context.Context, at Situation, claim model.Claim) func(*run) {
	ctx, cancel := a.bound(ctx)
	defer cancel()
	err := a.discardVolumes(ctx, at, claim)
	return func(r *run) {
		if err != nil {
			a.refused(r, err)
			return
		}
		r.succeeded()
		r.heard.Discarded = true
	}
}

func (a *Actor) discardVolumes(ctx context.Context, at Situation, claim model.Claim) error {
	seen, err := a.pods.read(ctx, claim.Pod, claim.UID)
	if err != nil {
		return err
	}
	if seen.Leaving {
		return errGone
	}
	return a.deleteVolumes(ctx, at, claim)
}

func (a *Actor) deleteVolumes(ctx context.Context, at Situation, claim model.Claim) error {
	if err := a.stillOurs(ctx, at, claim); err != nil {
		return err
	}
	for _, volume := range claim.Volumes {
		if !at.isOwnVolume(claim.Pod, volume.Name) {
			if err := a.leaveVolume(ctx, at, claim, volume); err != nil {
				return err
			}
			continue // there is none any more
		}
		if err := a.volumes.discard(ctx, volume); err != nil {
			return err
		}
		a.log.Info("volume claim deleted", "pod", claim.Pod, "volume", volume.Name, "uid", volume.UID)
	}
	return nil
}

// isOwnVolume tells whether a volume claim has the name that the pod's StatefulSet gives one.
// Others are not deleted, whatever a claim says: a status may be written by more people than
// volume claims may be deleted by.
func (at *Situation) isOwnVolume(pod, volume string) bool {
	return slices.ContainsFunc(at.Volumes[kube.SetOf(pod)], func(template string) bool { return volume == template+"-"+pod })
}

// errLeft: nothing was asked for, so nothing will be carried out later.
var errLeft = errors.New("a volume claim is left")

// leaveVolume says what a person has to do about a volume claim that is not the pod's by its
// name; nil: it is gone, or another one by now.
func (a *Actor) leaveVolume(ctx context.Context, at Situation, claim model.Claim, volume model.VolumeClaim) error {
	seen, err := a.volumes.read(ctx, volume.Name)
	if err != nil || seen.UID != volume.UID || seen.Leaving {
		return err
	}
	set := kube.SetOf(claim.Pod)
	why := fmt.Sprintf("StatefulSet %s has no template of that name any more", set)
	if at.Volumes[set] == nil {
		why = fmt.Sprintf("there is no StatefulSet %s with templates of volume claims in this database", set)
	}
	if !strings.HasSuffix(volume.Name, "-"+claim.Pod) {
		why = fmt.Sprintf("it is not named after pod %s, so no coordinator has written this claim", claim.Pod)
	}
	return fmt.Errorf("%w: %s of claim %s: %s; whoever knows that it is this pod's and empty deletes it, or else takes claim %s out of the DatabaseCluster's status",
		errLeft, volume.Name, claim.ID, why, claim.ID)
}

// renew looks whether the successor stands on volumes of its own.
func (a *Actor) renew(ctx context.Context, claim model.Claim) func(*run) {
	ctx, cancel := a.bound(ctx)
	defer cancel()
	var h heritage
	successor, err := a.pods.find(ctx, claim.Pod)
	if err == nil {
		h, err = a.volumes.inherits(ctx, claim.Volumes, successor)
	}
	return func(r *run) {
		switch {
		case err != nil:
			r.failed(err)
		case successor.Leaving:
			r.later("its successor is being deleted, too")
		case h.heir:
			a.log.Warn("the pod went before its volumes, and its successor has them", "id", claim.ID, "pod", claim.Pod)
			r.succeeded()
			r.heard.Heir = successor.UID
		case h.missing != "":
			r.later(h.missing)
		default:
			r.succeeded()
			r.heard.Renewed = true
		}
	}
}

// later notes what is awaited, and looks again soon.
func (r *run) later(why string) {
	r.succeeded()
	r.problem, r.retryAt = why, time.Now().Add(renewEvery)
}

// keepOn takes back that a claim is to be given up which can not be any more: it is
// tried again after a while.
func (r *run) keepOn() {
	r.problem, r.retryAt = r.giveUp, time.Now().Add(lastRetry)
	r.giveUp, r.rest, r.heldSince = "", "", time.Time{}
	r.conflicts, r.refusals, r.rejections = 0, 0, 0
}
