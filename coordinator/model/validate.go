package model

import (
	"fmt"
	"slices"
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

// String returns the field and what is wrong with it.
func (p InputProblem) String() string { return p.Field + " " + p.Reason }

// Validate returns the fields of the snapshot that are invalid or contradict each other, in
// a fixed order. A decision turns each into a hold of the whole cluster.
func Validate(s *Snapshot) []InputProblem {
	v := &validator{}
	if s.Version != Version {
		v.add("version", "is %d: this program reads version %d", s.Version, Version)
	}
	if s.Now.IsZero() {
		v.add("now", "is missing: must be the time of the decision")
	}
	spec := s.Cluster.SpecWithDefaults()
	v.spec(&spec)
	v.overrides(spec.Overrides, s.Now.Time)
	v.cluster(&s.Cluster)
	v.pools(s, &spec)
	v.pods(s)
	v.nodes(s.Nodes)
	v.groups(s.Groups)
	oneOf(v, "cluster.topology", s.Cluster.Topology, append(Topologies(), "")...)
	oneOf(v, "health.verdict", s.Health.Verdict, VerdictGreen, VerdictRecoverable, VerdictYellow, VerdictRed, VerdictUnknown, "")
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
	v.add(field, "is %q: must be one of %s", string(value), strings.Join(names, ", "))
}

func atLeast[T int | int32 | int64 | float64](v *validator, field string, value, least T) {
	if !(value >= least) { // not a number is refused, too
		v.add(field, "is %v: must be at least %v", value, least)
	}
}

// within checks that a duration is between least and MaxSeconds.
func within[T int64 | float64](v *validator, field string, seconds, least T) {
	if !(seconds >= least && seconds <= MaxSeconds) {
		v.add(field, "is %v: must be seconds from %v to %d", seconds, least, int64(MaxSeconds))
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

// version checks that a version can be compared; an empty one is unknown.
func (v *validator) version(field, text string) {
	if _, ok := ParseEngineVersion(text); !ok && text != "" {
		v.add(field, "is %q: must be a version such as 9.10.0, or none", text)
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
			v.add(field+"pod", "is empty: must be the name of the claimed pod")
		}
		if claims[claim.Pod] {
			v.twice(field+"pod", "has two claims: must be at most one")
		}
		claims[claim.Pod] = true
		oneOf(v, field+"phase", claim.Phase, append(ClaimPhases(), "")...)
		oneOf(v, field+"action", claim.Action, "", ActionRestart, ActionHandoff, ActionEvacuate, ActionRemove, ActionReplace, ActionRestore, ActionLowerPartition)
		oneOf(v, field+"reason", claim.Reason, "", ReasonOutdated, ReasonNeverStarted, ReasonFailed,
			ReasonRestartRequested, ReasonNodeDrain, ReasonScaleDown, ReasonReplacement, ReasonAdopt)
		oneOf(v, field+"prepare", claim.Prepare, "", PrepareNone, PrepareHandoff, PrepareEvacuate)
	}
	for i, a := range c.Status.Approvals {
		oneOf(v, fmt.Sprintf("cluster.status.approvals[%d].what", i), a.What,
			ApprovedCanary, ApprovedLeader, ApprovedAdopt, ApprovedOutage)
	}
}

// MaxReplicas bounds the number of missing pods that are counted.
const MaxReplicas = 100_000

// maxOrdinal keeps arithmetic on ordinals far from overflow.
const maxOrdinal = 1_000_000

func (v *validator) pools(s *Snapshot, spec *Spec) {
	seen := map[string]bool{}
	for i := range s.Pools {
		p := &s.Pools[i]
		field := "pools[" + p.Name + "]."
		if p.Name == "" {
			v.add(field+"name", "is empty: must be the name of a StatefulSet")
		}
		if seen[p.Name] {
			v.twice(field+"name", "is given twice")
		}
		seen[p.Name] = true
		if p.Replicas < 0 || p.Replicas > MaxReplicas {
			v.add(field+"replicas", "is %d: must be a number from 0 to %d", p.Replicas, MaxReplicas)
		}
		if p.Start < 0 || p.Start > maxOrdinal {
			v.add(field+"start", "is %d: must be a number from 0 to %d", p.Start, maxOrdinal)
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
		oneOf(v, field+"management", p.Management, "", ManagementParallel, ManagementOrderedReady)
		oneOf(v, field+"strategy", p.Strategy, "", StrategyOnDelete, StrategyRollingUpdate)
		oneOf(v, field+"operation", p.Operation, OperationNone, OperationScaleDown, OperationVolume, OperationRemoval)
		if p.Refused != "" {
			v.add(strings.TrimSuffix(field, "."), "is refused: %s", p.Refused)
		} else if p.Strategy == StrategyRollingUpdate && spec.Update.RollingUpdate == RollingUpdateByGuard && !p.Force {
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

func (v *validator) nodes(list []Node) {
	seen := make(map[string]bool, len(list))
	for i := range list {
		if seen[list[i].Name] {
			v.twice("nodes["+list[i].Name+"].name", "is given twice")
		}
		seen[list[i].Name] = true
	}
}
