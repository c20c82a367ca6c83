package model

import "cmp"

// Names that have been renamed. Saved snapshots and journals, and the specs and claims in a
// cluster, may still have the former ones: they are read as the current ones, and never written.
var (
	formerRules  = map[Rule]Rule{"line-stopped": RuleRolloutHalted, "settling": RuleFailureDetection, "unstable": RuleConflict}
	formerPhases = map[ClaimPhase]ClaimPhase{"Preparing": PhaseDraining, "Prepared": PhaseDrained}
	formerDrains = map[DrainState]DrainState{"Preparing": DrainRunning, "Prepared": DrainDone}
)

// UnmarshalText reads the name of a rule, also a former one.
func (r *Rule) UnmarshalText(text []byte) error { return unmarshalName(r, text, formerRules) }

// UnmarshalText reads a phase, also a former one.
func (p *ClaimPhase) UnmarshalText(text []byte) error { return unmarshalName(p, text, formerPhases) }

// UnmarshalText reads a drain state, also a former one.
func (d *DrainState) UnmarshalText(text []byte) error { return unmarshalName(d, text, formerDrains) }

func unmarshalName[T ~string](name *T, text []byte, former map[T]T) error {
	*name = cmp.Or(former[T(text)], T(text))
	return nil
}
