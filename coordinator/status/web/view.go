package web

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// maxPods bounds how many pods a view names. Updated, healthy pods are left out first.
const maxPods = 2000

// View is what the page shows of one database cluster, as JSON.
type View struct {
	Namespace string             `json:"namespace"`
	Name      string             `json:"name"`
	Engine    model.Engine       `json:"engine"`
	Mode      model.Mode         `json:"mode"`
	Phase     model.ClusterPhase `json:"phase"`
	DecidedAt time.Time          `json:"decidedAt"`
	// Idle is true if the agents are not asked, so that nothing is known about copies.
	Idle   bool             `json:"idle"`
	Health model.Health     `json:"health"`
	Pods   status.PodCounts `json:"pods"`
	Budget model.Budget     `json:"budget"`
	// Holds are those of the cluster as a whole. Those of a pod are in the pod.
	Holds    []model.Hold   `json:"holds"`
	Steps    []model.Step   `json:"steps"`
	Order    []string       `json:"order"`
	Forecast model.Forecast `json:"forecast"`
	Zones    []Zone         `json:"zones"`
	// Hidden is the number of pods beyond the bound.
	Hidden   int      `json:"hidden"`
	Copies   Copies   `json:"copies"`
	Timeline Timeline `json:"timeline"`
	// Stalled is nil if the rollout is not stalled.
	Stalled *status.Stall `json:"stalled,omitempty"`
	Error   string        `json:"error,omitempty"`
}

// Zone is the pods of one zone.
type Zone struct {
	Name string `json:"name"`
	Pods []Pod  `json:"pods"`
}

// Pod is one pod.
type Pod struct {
	Name string `json:"name"`
	Pool string `json:"pool"`
	Node string `json:"node"`
	// State is the phase of its claim, or else its own.
	State   string        `json:"state"`
	Problem model.Problem `json:"problem,omitempty"`
	Updated bool          `json:"updated"`
	Verdict string        `json:"verdict"`
	Rule    model.Rule    `json:"rule,omitempty"`
	// Why is the reason of the hold, or of going.
	Why      string   `json:"why,omitempty"`
	Unblocks string   `json:"unblocks,omitempty"`
	Roles    []string `json:"roles,omitempty"`
	// Place is its place in the order, from 1. It is 0 if it does not have to go.
	Place int `json:"place,omitempty"`
	// ReportAgeSeconds is negative without a report.
	ReportAgeSeconds float64 `json:"reportAgeSeconds"`
}

// NewView returns a decision as the page shows it. It is a pure function.
func NewView(d status.Decision, t Timeline) View {
	s := d.Snapshot
	v := View{
		Namespace: d.Key.Namespace, Name: d.Key.Name, Engine: s.Cluster.Spec.Engine, Mode: s.Cluster.Spec.Update.Mode,
		Phase: d.Phase, DecidedAt: d.DecidedAt, Idle: d.Idle, Health: s.Health, Pods: d.Pods, Budget: d.Plan.Budget,
		Holds: []model.Hold{}, Steps: nonNil(d.Plan.Steps), Order: nonNil(d.Plan.Order), Forecast: d.Plan.Forecast,
		Zones: []Zone{}, Copies: copiesOf(d), Timeline: t,
		Stalled: status.StallOf(d),
	}
	if d.SpecError != nil {
		v.Error = d.SpecError.Error()
	}
	for _, h := range d.Plan.Holds {
		if h.Pod == "" {
			v.Holds = append(v.Holds, h)
		}
	}
	pods := podsOf(d)
	slices.SortStableFunc(pods, func(a, b placed) int { return cmp.Compare(a.weight(), b.weight()) })
	if len(pods) > maxPods {
		v.Hidden = len(pods) - maxPods
		pods = pods[:maxPods]
	}
	v.Zones = byZone(pods)
	return v
}

// placed is a pod, and its place.
type placed struct {
	Pod
	zone    string
	ordinal int32
}

// weight sorts what people look for to the front.
func (p placed) weight() int {
	switch {
	case p.Verdict == string(status.VerdictClaimed):
		return 0
	case p.State != string(model.PodPhaseReady):
		return 1
	case p.Verdict != string(status.VerdictUpToDate):
		return 2
	}
	return 3
}

func podsOf(d status.Decision) []placed {
	s := d.Snapshot
	claims := map[string]model.Claim{}
	for _, c := range d.Claims {
		claims[c.Pod] = c
	}
	steps := map[string]model.Step{}
	for _, step := range d.Plan.Steps {
		steps[step.Pod] = step
	}
	holds := map[string]model.Hold{}
	for _, h := range slices.Backward(d.Plan.Holds) {
		holds[h.Pod] = h // people see the first one
	}
	order := map[string]int{}
	for i, name := range d.Plan.Order {
		order[name] = i + 1
	}
	revisions := map[string]string{}
	for _, pool := range s.Pools {
		revisions[pool.Name] = pool.Revision
	}
	zones := zonesOfNodes(s)
	var list []placed
	for _, pod := range s.Pods {
		p := placed{ordinal: pod.Ordinal, zone: cmp.Or(pod.Zone, zones[pod.Node], claims[pod.Name].Zone), Pod: Pod{
			Name: pod.Name, Pool: pod.Pool, Node: pod.Node, State: string(pod.Phase), Problem: pod.Problem,
			Updated: pod.Phase != model.PodPhaseMissing && revisions[pod.Pool] != "" && pod.Revision == revisions[pod.Pool],
			Verdict: string(status.VerdictUpToDate), Place: order[pod.Name], ReportAgeSeconds: -1,
		}}
		if pod.Report != nil {
			p.ReportAgeSeconds, p.Roles = pod.Report.AgeSeconds, pod.Report.Roles
		}
		claim, claimed := claims[pod.Name]
		step, goes := steps[pod.Name]
		switch {
		case claimed:
			p.Verdict, p.State = string(status.VerdictClaimed), string(claim.Phase)
			p.Why = cmp.Or(d.Waiting[pod.Name], string(claim.Reason))
		case goes:
			p.Verdict, p.Why = string(status.VerdictGo), string(step.Reason)
		case p.Place > 0:
			p.Verdict = string(status.VerdictHold)
			h, own := holds[pod.Name]
			if !own {
				h = holds[""]
			}
			p.Rule, p.Why, p.Unblocks = h.Rule, h.Reason, h.Unblocks
		}
		list = append(list, p)
	}
	return list
}

func zonesOfNodes(s model.Snapshot) map[string]string {
	zones := map[string]string{}
	for _, n := range s.Nodes {
		zones[n.Name] = n.Zone
	}
	return zones
}

// byZone sorts zones by name, and the pods of each by pool and ordinal.
func byZone(pods []placed) []Zone {
	slices.SortFunc(pods, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.zone, b.zone), cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.ordinal, b.ordinal), cmp.Compare(a.Name, b.Name))
	})
	zones := []Zone{}
	for _, p := range pods {
		if len(zones) == 0 || zones[len(zones)-1].Name != p.zone {
			zones = append(zones, Zone{Name: p.zone})
		}
		last := &zones[len(zones)-1]
		last.Pods = append(last.Pods, p.Pod)
	}
	return zones
}

// nonNil returns a list that is [] in JSON and never null.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
