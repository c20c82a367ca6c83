package rollout

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

func podNamed(s model.Snapshot, name string) *model.Pod {
	for i := range s.Pods {
		if s.Pods[i].Name == name {
			return &s.Pods[i]
		}
	}
	return nil
}

// poolOf returns the pool of a pod. It returns nil if the snapshot has none.
func poolOf(s model.Snapshot, pod string) *model.Pool {
	p := podNamed(s, pod)
	if p == nil {
		return nil
	}
	for i := range s.Pools {
		if s.Pools[i].Name == p.Pool {
			return &s.Pools[i]
		}
	}
	return nil
}

func withoutClaim(s model.Snapshot, claim model.Claim) model.Snapshot {
	s.Cluster.Status.Claims = slices.DeleteFunc(slices.Clone(s.Cluster.Status.Claims), func(c model.Claim) bool { return c.ID == claim.ID })
	return s
}

func claimByID(claims []model.Claim, id string) *model.Claim {
	for i := range claims {
		if claims[i].ID == id {
			return &claims[i]
		}
	}
	return nil
}

// isOpen reports whether a claim is open. What a claim leaves is recorded in the write that ends
// it, so an open claim has left nothing.
func isOpen(s model.Snapshot, id string) bool {
	return slices.ContainsFunc(s.Cluster.Status.Claims, func(c model.Claim) bool { return c.ID == id })
}

// outage reports whether a person has approved that all pods go at once. Nobody is left then to
// take over duties.
func outage(s model.Snapshot) bool { return s.Cluster.Spec.Policy.Unit == model.UnitAll }

// hasAgent reports whether an agent runs in the pod, or may. The agent of a pod without a node
// cannot have started.
func hasAgent(pod *model.Pod) bool {
	return pod.Agent && pod.UID != "" && pod.Phase != model.PodPhaseMissing && pod.Phase != model.PodPhasePending
}

// othersHaveAgents reports whether somebody else can say that nothing is left on the pod, now or
// later. If nobody can, the others are adopted first.
func othersHaveAgents(s model.Snapshot, pod string) bool {
	return slices.ContainsFunc(s.Pods, func(p model.Pod) bool { return p.Name != pod && p.Agent })
}

// onlyAgent reports whether other pods run and none of them has an agent.
func onlyAgent(s model.Snapshot, pod string) bool {
	return !othersHaveAgents(s, pod) && slices.ContainsFunc(s.Pods, func(p model.Pod) bool { return p.Name != pod && p.Phase == model.PodPhaseReady })
}

// withoutAgents reports whether no pod has an agent, so that nobody can undo anything. The first
// agent that starts undoes what it finds of claims that are not open.
func withoutAgents(s model.Snapshot) bool {
	return !slices.ContainsFunc(s.Pods, func(p model.Pod) bool { return p.Agent && p.Phase != model.PodPhaseMissing })
}

func living(s model.Snapshot) []effect.Target {
	var out []effect.Target
	for i := range s.Pods {
		pod := &s.Pods[i]
		if pod.Agent && pod.UID != "" && pod.Phase == model.PodPhaseReady && pod.Report != nil && pod.Report.Member == model.MembershipLive {
			out = append(out, effect.Target{Pod: pod.Name, UID: pod.UID})
		}
	}
	return out
}

// serving returns the pods without agents through which the database can be asked.
func serving(s model.Snapshot) []effect.Target {
	var out []effect.Target
	for i := range s.Pods {
		if pod := &s.Pods[i]; pod.UID != "" && pod.Phase == model.PodPhaseReady {
			out = append(out, effect.Target{Pod: pod.Name, UID: pod.UID})
		}
	}
	return out
}

// isWrittenEmpty reports whether a claim says of this very pod that it is empty.
func isWrittenEmpty(s model.Snapshot, pod *model.Pod) bool {
	return slices.ContainsFunc(s.Cluster.Status.Claims, func(c model.Claim) bool { return c.UID == pod.UID && c.EmptiedAt != nil })
}

// containerRuns reports whether a pod's database runs, so that its agent can say something. A
// container that crashes repeatedly and whose agent has not reported is only being started once
// more by the kubelet.
func containerRuns(pod *model.Pod) bool {
	switch pod.Phase {
	case model.PodPhasePending, model.PodPhaseNotStarted, model.PodPhaseFailed:
		return false
	case model.PodPhaseStarted:
		looping := pod.Problem == model.ProblemCrashLoop || pod.Problem == model.ProblemStartupProbe
		return !looping || pod.Report != nil
	}
	return true
}

// agentReports reports whether the agent of a pod that is not shown as started says what the pod is
// to the database. The database may have started since, and the pod may be a member now.
func agentReports(pod *model.Pod) bool {
	if pod.Phase != model.PodPhasePending && pod.Phase != model.PodPhaseNotStarted {
		return false
	}
	r := pod.Report
	return r != nil && r.Self && r.Fresh && r.UID == pod.UID && r.Member != model.MembershipUnknown
}

// freshReport returns the claimed pod's own last report. It returns nil if that is not fresh.
func freshReport(s model.Snapshot, claim model.Claim) *model.Report {
	pod := podNamed(s, claim.Pod)
	if pod == nil || pod.UID != claim.UID || pod.Report == nil || !pod.Report.Self || !pod.Report.Fresh {
		return nil
	}
	return pod.Report
}

// groupsLedBy returns the groups that a pod leads and that another member could lead.
func groupsLedBy(s model.Snapshot, pod string) map[string]bool {
	led := map[string]bool{}
	for _, group := range s.Groups {
		own, others := false, false
		for _, m := range group.Members {
			own = own || m.Pod == pod && m.Leader
			others = others || m.Pod != pod && m.State == model.MemberActive && m.Eligible
		}
		if own && others {
			led[group.ID] = true
		}
	}
	return led
}

// unavailableByItself reports whether the pod would count as unavailable without any claim.
func unavailableByItself(pod *model.Pod) bool {
	r := pod.Report
	return pod.Phase != model.PodPhaseReady || pod.Agent && r == nil || r != nil && (r.Member != model.MembershipLive || !r.Settled)
}
