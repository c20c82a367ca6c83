package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// InputProblem is something in a snapshot that makes no sense.
type InputProblem struct {
	// Field is the path of the field, as it would be written: pods[search-3].phase.
	Field string
	// Reason continues the sentence that begins with Field.
	Reason string
	// Identity: two things claim to be one, so that not even an order can be told.
	Identity bool
}

// String names the field and says what is wrong with it.
func (p InputProblem) String() string { return p.Field + " " + p.Reason }

// Validate returns what in the snapshot makes no sense, or asks for something
// that is not there yet, in a fixed order. Decide turns each into a hold of
// the whole cluster.
func Validate(s *Snapshot) []InputProblem {
	v := &validator{}
	if s.Version != Version {
		v.add("version", "is %d: this program reads version %d", s.Version, Version)
	}
	if s.Now.IsZero() {
		v.add("now", "is missing: the time of the decision is wanted")
	}
	spec := s.Cluster.Spec.WithDefaults()
	v.spec(&spec)
	v.overrides(spec.Overrides, s.Now.Time)
	v.cluster(&s.Cluster)
	v.pools(s, &spec)
	v.pods(s)
	v.nodes(s.Nodes)
	v.groups(s.Groups)
	oneOf(v, "health.verdict", s.Health.Verdict, Green, Recoverable, Yellow, Red, UnknownHealth, "")
	atLeast(v, "fleet.restarts", s.Fleet.Restarts, 0)
	atLeast(v, "fleet.max", s.Fleet.Max, 0)
	slices.SortStableFunc(v.found, func(a, b InputProblem) int {
		if c := strings.Compare(a.Field, b.Field); c != 0 {
			return c
		}
		return strings.Compare(a.Reason, b.Reason)
	})
	return v.found
}

type validator struct{ found []InputProblem }

func (v *validator) add(field, format string, args ...any) {
	v.found = append(v.found, InputProblem{Field: field, Reason: fmt.Sprintf(format, args...)})
}

func (v *validator) twice(field, format string, args ...any) {
	v.found = append(v.found, InputProblem{Field: field, Reason: fmt.Sprintf(format, args...), Identity: true})
}

func oneOf[T ~string](v *validator, field string, value T, allowed ...T) {
	if slices.Contains(allowed, value) {
		return
	}
	names := make([]string, 0, len(allowed))
	for _, a := range allowed {
		if a != "" {
			names = append(names, string(a))
		}
	}
	v.add(field, "is %q: one of %s is wanted", string(value), strings.Join(names, ", "))
}

func atLeast[T int | int32 | int64 | float64](v *validator, field string, value, least T) {
	if !(value >= least) { // not a number is refused, too
		v.add(field, "is %v: at least %v is wanted", value, least)
	}
}

// within refuses what is longer than anything can take.
func within[T int64 | float64](v *validator, field string, seconds, least T) {
	if !(seconds >= least && seconds <= longest) {
		v.add(field, "is %v: seconds from %v to %d are wanted", seconds, least, int64(longest))
	}
}

func (v *validator) quantity(field string, q *IntOrPercent) {
	if q == nil {
		return
	}
	if err := q.check(); err != nil {
		v.add(field, "%s", err.Error())
	}
}

// version: what cannot be compared would go unchecked; empty means unknown.
func (v *validator) version(field, text string) {
	if _, ok := parseVersion(text); !ok && text != "" {
		v.add(field, "is %q: a version such as 9.10.0 is wanted, or none", text)
	}
}

func (v *validator) cluster(c *Cluster) {
	within(v, "cluster.engine.settleSeconds", c.Engine.SettleSeconds, 0)
	atLeast(v, "cluster.engine.maxMajorStep", c.Engine.MaxMajorStep, 0)
	v.version("cluster.engine.minSourceVersion", c.Engine.MinSourceVersion)
	claims := map[string]bool{}
	for _, claim := range c.Status.Claims {
		field := "cluster.status.claims[" + claim.Pod + "]."
		if claim.Pod == "" {
			v.add(field+"pod", "is empty: the name of the claimed pod is wanted")
		}
		if claims[claim.Pod] {
			v.twice(field+"pod", "has two claims: at most one is wanted")
		}
		claims[claim.Pod] = true
		oneOf(v, field+"phase", claim.Phase, "", PhaseClaimed, PhasePreparing, PhasePrepared, PhaseEmptied, PhaseOpened,
			PhaseGone, PhaseRejoined, PhaseRestoring, PhaseSettling)
		oneOf(v, field+"action", claim.Action, "", Restart, Handoff, Evacuate, Remove, Replace, Restore, LowerPartition)
		oneOf(v, field+"reason", claim.Reason, "", ReasonOutdated, ReasonNeverStarted, ReasonFailed,
			ReasonRestartRequested, ReasonNodeDrain, ReasonScaleDown, ReasonReplacement, ReasonAdopt)
		oneOf(v, field+"prepare", claim.Prepare, "", PrepareNone, PrepareHandoff, PrepareEvacuate)
	}
	for i, a := range c.Status.Approvals {
		oneOf(v, fmt.Sprintf("cluster.status.approvals[%d].what", i), a.What,
			ApprovedCanary, ApprovedLeader, ApprovedAdopt, ApprovedOutage)
	}
}

// maxReplicas keeps the places of missing pods countable; maxOrdinal keeps
// ordinals far from overflow.
const (
	maxReplicas = 100_000
	maxOrdinal  = 1_000_000
)

func (v *validator) pools(s *Snapshot, spec *Spec) {
	seen := map[string]bool{}
	for i := range s.Pools {
		p := &s.Pools[i]
		field := "pools[" + p.Name + "]."
		if p.Name == "" {
			v.add(field+"name", "is empty: the name of a StatefulSet is wanted")
		}
		if seen[p.Name] {
			v.twice(field+"name", "is given twice")
		}
		seen[p.Name] = true
		if p.Replicas < 0 || p.Replicas > maxReplicas {
			v.add(field+"replicas", "is %d: a number from 0 to %d is wanted", p.Replicas, maxReplicas)
		}
		if p.Start < 0 || p.Start > maxOrdinal {
			v.add(field+"start", "is %d: a number from 0 to %d is wanted", p.Start, maxOrdinal)
		}
		atLeast(v, field+"partition", p.Partition, 0)
		if p.Ordered != nil {
			atLeast(v, field+"ordered", *p.Ordered, 0)
		}
		if p.ScalingTo != nil {
			atLeast(v, field+"scalingTo", *p.ScalingTo, 0)
		}
		v.version(field+"version", p.Version)
		v.version(field+"runningVersion", p.RunningVersion)
		oneOf(v, field+"management", p.Management, "", Parallel, OrderedReady)
		oneOf(v, field+"strategy", p.Strategy, "", OnDelete, RollingUpdateStrategy)
		oneOf(v, field+"operation", p.Operation, NoOperation, OperationScaleDown, OperationVolume, OperationRemoval)
		if p.Refused != "" {
			v.add(strings.TrimSuffix(field, "."), "is refused: %s", p.Refused)
		} else if p.Strategy == RollingUpdateStrategy && spec.Update.RollingUpdate == ByGuard && !p.Force {
			switch {
			case spec.Guard != GuardEnforce:
				v.add(field+"strategy", "is RollingUpdate, which needs guard Enforce, and cluster.spec.guard is %s: OnDelete needs no guard, nor does update.rollingUpdate Partition", spec.Guard)
			case !s.Cluster.GuardEnforcing && s.Cluster.Status.Initialized: // before that there is nothing to guard, and a wrong first template must be corrected
				v.add(field+"strategy", "is RollingUpdate, which needs the guard, and cluster.guardEnforcing is false: the condition GuardLost says what is missing; OnDelete needs no guard, nor does update.rollingUpdate Partition")
			}
		}
	}
	if len(s.Pools) == 0 && len(s.Pods) > 0 {
		v.add("pools", "is empty although there are pods")
	}
}

func (v *validator) pods(s *Snapshot) {
	pools := make(map[string]*Pool, len(s.Pools))
	for i := range s.Pools {
		pools[s.Pools[i].Name] = &s.Pools[i]
	}
	names := make(map[string]bool, len(s.Pods))
	uids := make(map[string]bool, len(s.Pods))
	named := true // each for its pool and ordinal
	for i := range s.Pods {
		p := &s.Pods[i]
		if names[p.Name] {
			v.twice(podField(p, "name"), "is given twice")
		}
		names[p.Name] = true
		if p.UID != "" {
			if uids[p.UID] {
				v.twice(podField(p, "uid"), "is %s, which another pod has, too: each pod has its own", p.UID)
			}
			uids[p.UID] = true
		}
		named = v.pod(p, pools[p.Pool]) && named
	}
	if !named || len(names) < len(s.Pods) {
		v.places(s.Pods)
	}
}

// places: as long as names are those of their places, no two have one place
// that do not have one name.
func (v *validator) places(pods []Pod) {
	type place struct {
		pool    string
		ordinal int32
	}
	seen := make(map[place]bool, len(pods))
	for i := range pods {
		p := &pods[i]
		at := place{p.Pool, p.Ordinal}
		if seen[at] {
			v.twice(podField(p, "ordinal"), "is %d, which pool %s has twice", p.Ordinal, p.Pool)
		}
		seen[at] = true
	}
}

func podField(p *Pod, field string) string { return "pods[" + p.Name + "]." + field }

// pod says, too, whether the name is that of the pod's place.
func (v *validator) pod(p *Pod, pool *Pool) (named bool) {
	if pool == nil {
		v.add(podField(p, "pool"), "is %q: no pool has this name", p.Pool)
	}
	if p.Ordinal < 0 || p.Ordinal > 2*maxOrdinal {
		v.add(podField(p, "ordinal"), "is %d: a number from 0 is wanted", p.Ordinal)
	}
	text, ok := strings.CutPrefix(p.Name, p.Pool+"-")
	switch n, err := strconv.Atoi(text); {
	case p.Name == "":
		v.twice(podField(p, "name"), "is empty")
	case !ok || err != nil || text != strconv.Itoa(n):
		v.add(podField(p, "name"), "is not the name of its pool with an ordinal: %s-%d is wanted", p.Pool, p.Ordinal)
	case n != int(p.Ordinal):
		v.add(podField(p, "ordinal"), "is %d, and its name says %d", p.Ordinal, n)
	default:
		named = true
	}
	switch p.Phase {
	case Missing, Pending, NotStarted, Started, Ready, Terminating, Failed:
	default:
		oneOf(v, podField(p, "phase"), p.Phase, Missing, Pending, NotStarted, Started, Ready, Terminating, Failed)
	}
	switch p.Guard {
	case "", GuardClosed, GuardOpen, GuardNone:
	default:
		oneOf(v, podField(p, "guard"), p.Guard, GuardClosed, GuardOpen, GuardNone)
	}
	switch p.Refused {
	case "", ForeignBudget, Unstable, Vetoed:
	default:
		oneOf(v, podField(p, "refused"), p.Refused, ForeignBudget, Unstable, Vetoed)
	}
	if !(p.EstimateSeconds >= 0 && p.EstimateSeconds <= longest) {
		within(v, podField(p, "estimateSeconds"), p.EstimateSeconds, 0)
	}
	if slices.Contains(p.MustReplace, "") {
		v.add(podField(p, "mustReplace"), "names nothing: what changed is wanted")
	}
	for i := range p.Conditions {
		v.condition(p, &p.Conditions[i])
	}
	if r := p.Report; r != nil {
		switch r.Member {
		case "", Live, NotLive, UnknownMember:
		default:
			oneOf(v, podField(p, "report.member"), r.Member, Live, NotLive, UnknownMember)
		}
		switch r.Drain {
		case "", DrainNone, DrainPreparing, DrainPrepared, DrainRefused:
		default:
			oneOf(v, podField(p, "report.drain"), r.Drain, DrainNone, DrainPreparing, DrainPrepared, DrainRefused)
		}
		if !(r.AgeSeconds >= 0) {
			v.add(podField(p, "report.ageSeconds"), "is %v: at least 0 is wanted", r.AgeSeconds)
		}
		if !(r.NotLiveSeconds >= 0) {
			v.add(podField(p, "report.notLiveSeconds"), "is %v: at least 0 is wanted", r.NotLiveSeconds)
		}
	}
	return named
}

func (v *validator) condition(p *Pod, c *PodCondition) {
	switch {
	case c.Type == "":
		v.add(podField(p, "conditions[].type"), "is empty: what the condition is, is wanted")
	case c.Since.IsZero():
		v.add(podField(p, "conditions["+c.Type+"].since"), "is missing: when it began is wanted")
	}
}

func (v *validator) nodes(list []Node) {
	seen := make(map[string]bool, len(list))
	for i := range list {
		if seen[list[i].Name] {
			v.twice("nodes["+list[i].Name+"].name", "is given twice")
		}
		seen[list[i].Name] = true
	}
}

func (v *validator) groups(list []Group) {
	seen := map[string]bool{}
	distinct := rising(list)
	for i := range list {
		g := &list[i]
		if g.ID == "" {
			v.add(groupField(g, "id"), "is empty")
		}
		if !distinct {
			if seen[g.ID] {
				v.twice(groupField(g, "id"), "is given twice")
			}
			seen[g.ID] = true
		}
		switch g.Kind {
		case Shard, Quorum, Acks, Role:
			if g.MinAvailable == nil {
				if g.Kind != Shard {
					v.add(groupField(g, "minAvailable"), "is null: the engine must set it for kind %s", g.Kind)
				}
			} else if *g.MinAvailable < 0 {
				v.add(groupField(g, "minAvailable"), "is %d: at least 0 is wanted", *g.MinAvailable)
			}
		default:
			oneOf(v, groupField(g, "kind"), g.Kind, Shard, Quorum, Acks, Role)
		}
		v.members(g)
	}
}

// rising: each id comes after the one before, so none is there twice.
func rising(list []Group) bool {
	for i := range list {
		if i > 0 && list[i-1].ID >= list[i].ID {
			return false
		}
	}
	return true
}

func groupField(g *Group, field string) string { return "groups[" + g.ID + "]." + field }

func (v *validator) members(g *Group) {
	for i := range g.Members {
		m := &g.Members[i]
		switch m.State {
		case "", Active, Recovering, Moving, Down, UnknownState:
		default:
			oneOf(v, groupField(g, "members["+m.ID+"].state"), m.State, Active, Recovering, Moving, Down, UnknownState)
		}
	}
	if len(g.Members) > maxPairwise {
		v.manyMembers(g)
		return
	}
	for i := range g.Members {
		for j := range i {
			if id := g.Members[i].ID; id != "" && g.Members[j].ID == id {
				v.twice(groupField(g, "members["+id+"].id"), "is given twice")
			}
		}
	}
}

// maxPairwise is the number of members up to which comparing each with each is
// cheaper than a map.
const maxPairwise = 16

func (v *validator) manyMembers(g *Group) {
	seen := make(map[string]bool, len(g.Members))
	for i := range g.Members {
		if id := g.Members[i].ID; id != "" {
			if seen[id] {
				v.twice(groupField(g, "members["+id+"].id"), "is given twice")
			}
			seen[id] = true
		}
	}
}
