package model

import "reflect"

// DefaultEstimateSeconds is how long a pod is expected to be unavailable if nothing is known.
const DefaultEstimateSeconds = 60

// Defaults of numbers for which 0 is invalid, so that 0 means the default.
const (
	defaultStartSeconds     = 600
	defaultProgressSeconds  = 600
	defaultMaxFailed        = 1
	defaultTimeoutSeconds   = 300
	defaultEvacuateSeconds  = 86400
	defaultDetectionSeconds = 7200
	defaultTaintSeconds     = 1800
	defaultConcurrent       = 1
	defaultZoneKey          = "topology.kubernetes.io/zone"
)

// SpecWithDefaults returns the cluster's spec with all defaults, including those that depend
// on the engine.
func (c *Cluster) SpecWithDefaults() Spec {
	s := c.Spec
	if c.Engine.ByZone {
		setIfZero(&s.Policy.Unit, UnitZone)
	}
	if c.Engine.OneAtATime && s.Policy.MaxUnavailable == nil {
		one := Count(1)
		s.Policy.MaxUnavailable = &one
	}
	setIfZero(&s.Update.Primary, c.Topology.defaultPrimary())
	return s.WithDefaults()
}

// WithDefaults returns the spec with all defaults, except those that depend on the engine,
// which are what most engines have. It shares slices with the original.
func (s Spec) WithDefaults() Spec {
	u := &s.Update
	setIfZero(&u.Mode, ModeAuto)
	setIfZero(&u.Method, MethodEvict)
	setIfZero(&u.RollingUpdate, RollingUpdateByGuard)
	setIfZero(&u.Schedule, Ordered)
	setIfZero(&u.Adopt, AdoptAsk)
	setIfZero(&s.Guard, GuardEnforce)
	p := &s.Policy
	setIfZero(&p.Unit, UnitPod)
	if p.MaxUnavailable == nil {
		quarter := Percent(25)
		p.MaxUnavailable = &quarter
	}
	if p.MaxShardUnavailable == nil {
		one := Count(1)
		p.MaxShardUnavailable = &one
	}
	setIfZero(&p.ZoneKey, defaultZoneKey)
	setIfZero(&p.Health, LeastRecoverable)
	setIfZero(&p.Unprotected, PermissionAllow)
	setIfZero(&p.StartSeconds, defaultStartSeconds)
	setIfZero(&p.ProgressSeconds, defaultProgressSeconds)
	setIfZero(&p.MaxFailed, defaultMaxFailed)
	setIfZero(&p.Downgrade, PermissionHold)
	d := &s.Drain
	setIfZero(&d.Data.Restart, DataKeep)
	setIfZero(&d.Data.NodeDrain, DataLose)
	setIfZero(&d.TimeoutSeconds, defaultTimeoutSeconds)
	setIfZero(&d.EvacuateTimeoutSeconds, defaultEvacuateSeconds)
	setIfZero(&d.OnTimeout, TimeoutHold)
	r := &s.Replacement
	setIfZero(&r.FailureDetectionSeconds, defaultDetectionSeconds)
	if r.MaxConcurrentFailed == nil {
		one := int32(defaultConcurrent)
		r.MaxConcurrentFailed = &one
	}
	setIfZero(&r.TaintReplacementSeconds, defaultTaintSeconds)
	setIfZero(&r.UpdateStrategy, UpdateDelete)
	return s
}

func setIfZero[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// The functions below return what JSON that leaves a field out means. These are not the zero
// values, which mean that nothing is known: a person who writes a snapshot by hand writes
// only what is unusual.

func defaultSnapshot() Snapshot {
	return Snapshot{
		Version: Version,
		Cluster: Cluster{
			GuardEnforcing: true,
			Status:         Status{Initialized: true},
			Window:         WindowState{Open: true},
			Engine:         EngineFacts{MaxMajorStep: 1},
		},
		Health: Health{Verdict: VerdictGreen},
	}
}

func defaultPool() Pool {
	return Pool{Observed: true, Agents: true, Management: ManagementParallel, Strategy: StrategyOnDelete}
}

func defaultPod() Pod {
	return Pod{Phase: PodPhaseReady, Agent: true, Guard: GuardClosed, EstimateSeconds: DefaultEstimateSeconds}
}

func defaultReport() Report {
	return Report{Self: true, Fresh: true, Member: MembershipLive, Settled: true, Drain: DrainNone}
}

func defaultGroup() Group { return Group{Kind: GroupShard, NeedsLeader: true} }

func defaultMember() Member { return Member{State: MemberActive, Eligible: true} }

// setDefaults initializes a new element of a list or the target of a pointer.
func setDefaults(v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *Pool:
		*p = defaultPool()
	case *Pod:
		*p = defaultPod()
	case *Report:
		*p = defaultReport()
	case *Group:
		*p = defaultGroup()
	case *Member:
		*p = defaultMember()
	}
}
