package corpus

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/journal"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// few is the least number of decisions in which each name and each kind of answer occurs.
const few = 3

// occurrences counts the entries in which something occurs.
type occurrences map[string]int

func (o occurrences) count(found map[string]bool) {
	for what, is := range found {
		if is {
			o[what]++
		}
	}
}

// The corpus has everything the policy can say, and every shape of a rollout.
func TestCorpusCovers(t *testing.T) {
	have := occurrences{}
	for _, d := range read[decision](t, "decisions.jsonl.gz") {
		s, err := model.Decode(d.Snapshot)
		require.NoError(t, err)
		var a answers
		require.NoError(t, json.Unmarshal(d.Answers, &a))
		source, _, _ := strings.Cut(d.ID, "/")
		found := shapes(&s)
		found["source "+source] = true
		said(&a, found)
		for _, claim := range s.Cluster.Status.Claims {
			found["claim "+string(claim.Phase)] = true
		}
		have.count(found)
	}
	for _, what := range wanted() {
		assert.GreaterOrEqual(t, have[what], few, what)
	}
}

// The journals have rollouts of all shapes, and many that finish.
func TestJournalsCover(t *testing.T) {
	have := occurrences{}
	for _, r := range read[record](t, "journals.jsonl.gz") {
		j, err := journal.Decode(r.Journal)
		require.NoError(t, err)
		found := map[string]bool{}
		for i := range j.Entries {
			for shape, is := range shapes(&j.Entries[i].Snapshot) {
				found[shape] = found[shape] || is
			}
			found["phase "+string(j.Entries[i].Plan.Phase)] = true
		}
		have.count(found)
	}
	for _, shape := range []string{
		"OnDelete", "RollingUpdate by guard", "RollingUpdate by line", "OrderedReady", "several pools", "unit Zone", "unit All",
		"a limit of zones", "updates replace", "data is gone", "drains are followed", "acks", "quorum", "shard",
	} {
		assert.GreaterOrEqual(t, have[shape], few, shape)
	}
	assert.GreaterOrEqual(t, have["phase Done"], 30)
	for _, phase := range []string{"Idle", "Rolling", "Waiting", "Paused", "Stalled"} {
		assert.GreaterOrEqual(t, have["phase "+phase], few, phase)
	}
}

// said adds the names in the answers, and which kinds of answers there are.
func said(a *answers, found map[string]bool) {
	name := func(kind, name string) { found[kind+" "+today(name, renamed).(string)] = true }
	name("phase", string(a.Plan.Phase))
	found["line"] = found["line"] || len(a.Plan.Lines) > 0
	for _, s := range a.Plan.Steps {
		name("action", string(s.Action))
		name("reason", string(s.Reason))
		name("prepare", string(s.Prepare))
		found["outside the budget"] = found["outside the budget"] || s.OutsideBudget
		found["before its turn"] = found["before its turn"] || s.BeforeTurn
		found["partition"] = found["partition"] || s.Partition != nil
	}
	for _, h := range a.Plan.Holds {
		name("rule", string(h.Rule))
	}
	for _, holds := range a.Explained {
		found["held by several"] = found["held by several"] || len(holds) > 1
	}
	for _, c := range a.Claims {
		found["may still go"] = found["may still go"] || c.Recheck.Step != nil
		found["is held"] = found["is held"] || c.Recheck.Hold != nil
		found["need not go"] = found["need not go"] || c.Recheck == recheck{}
		found["is back"] = found["is back"] || c.Returned.Done
		found["has joined"] = found["has joined"] || c.Returned.Joined && !c.Returned.Done
		found["has failed"] = found["has failed"] || c.Returned.Failed
		found["a clock tells"] = found["a clock tells"] || c.Returned.RetryAfterSeconds > 0
		found["successors"] = found["successors"] || len(c.Successors) > 0
	}
	found["forbidden"] = a.Lists.Forbidden
	found["replacements"] = len(a.Lists.Replacements) > 0
	found["force deletes"] = len(a.Lists.ForceDeletes) > 0
	found["yet to follow"] = len(a.Lists.YetToFollow) > 0
	found["lost canaries"] = len(a.Lists.LostCanaries) > 0
	found["absent"] = len(a.Lists.Absent) > 0
}

// shapes says which features of a rollout a snapshot has.
func shapes(s *model.Snapshot) map[string]bool {
	spec := &s.Cluster.Spec
	pool := func(is func(p *model.Pool) bool) bool {
		return slices.ContainsFunc(s.Pools, func(p model.Pool) bool { return is(&p) })
	}
	rolls := pool(func(p *model.Pool) bool { return p.Strategy == model.StrategyRollingUpdate })
	return map[string]bool{
		"OnDelete":               pool(func(p *model.Pool) bool { return p.Strategy == model.StrategyOnDelete }),
		"RollingUpdate by guard": rolls && spec.Update.RollingUpdate == model.RollingUpdateByGuard,
		"RollingUpdate by line":  rolls && spec.Update.RollingUpdate == model.RollingUpdateByPartition,
		"OrderedReady":           pool(func(p *model.Pool) bool { return p.Management == model.ManagementOrderedReady }),
		"scale-down":             pool(func(p *model.Pool) bool { return p.ScalingTo != nil || p.Operation == model.OperationScaleDown }),
		"several pools":          len(s.Pools) > 1,
		"unit Zone":              spec.Policy.Unit == model.UnitZone,
		"unit All":               spec.Policy.Unit == model.UnitAll,
		"a limit of zones":       spec.Policy.MaxZonesUnavailable != nil,
		"updates replace":        spec.Replacement.UpdateStrategy == model.UpdateReplace,
		"data is gone":           spec.Drain.Data.Restart == model.DataLose,
		"drains are followed":    spec.Update.NodeDrains.Follow,
		"canary":                 spec.Update.Canary.Pods > 0,
		"overrides":              len(spec.Overrides) > 0,
		"approvals":              len(s.Cluster.Status.Approvals) > 0,
		"acks":                   slices.ContainsFunc(s.Groups, func(g model.Group) bool { return g.Kind == model.GroupAcks }),
		"quorum":                 slices.ContainsFunc(s.Groups, func(g model.Group) bool { return g.Kind == model.GroupQuorum }),
		"role":                   slices.ContainsFunc(s.Groups, func(g model.Group) bool { return g.Kind == model.GroupRole }),
		"shard":                  slices.ContainsFunc(s.Groups, func(g model.Group) bool { return g.Kind == model.GroupShard }),
	}
}

// recordedRules and recordedPhases are the rules and the claim phases that existed when the corpus
// was recorded. It is never recorded again, so a rule, a phase, a reason or an action that is added
// later is not listed here.
var (
	recordedRules = []model.Rule{
		model.RuleBadInput, model.RuleObserveOnly, model.RulePaused, model.RuleOutsideWindow, model.RuleFleetFull, model.RuleApproval, model.RuleCanary,
		model.RulePoolUnobserved, model.RuleRolloutHalted, model.RuleViewSplit, model.RuleNoLeader, model.RuleTwoLeaders, model.RuleVersionRefused, model.RuleHealth,
		model.RuleFailureDetection, model.RuleOtherOperation, model.RuleShutdown, model.RuleOrderedReady, model.RuleNodeGone, model.RuleNoReport, model.RuleStaleReport, model.RuleTerminating,
		model.RuleClaimed, model.RuleVeto, model.RuleBusy, model.RuleVersionOrder, model.RuleRankOrder, model.RuleLeaderLast, model.RuleZoneUnknown, model.RuleZoneBudget, model.RulePodBudget,
		model.RuleMoving, model.RuleShardBudget, model.RuleQuorum, model.RuleAcks, model.RuleRole, model.RuleEligible, model.RuleSoleCopy, model.RuleCatchingUp,
		model.RuleForeignBudget, model.RuleConflict,
	}
	recordedPhases = []model.ClaimPhase{
		model.PhaseClaimed, model.PhaseDraining, model.PhaseDrained, model.PhaseEmptied, model.PhaseOpened, model.PhaseGone, model.PhaseRejoined,
		model.PhaseRestoring, model.PhaseSettling,
	}
)

// wanted lists everything that must occur.
func wanted() []string {
	all := []string{
		"source script", "source random", "source sim", "source old", "source primary", "source replace", "source made",
		"line", "outside the budget", "before its turn", "partition", "held by several",
		"may still go", "is held", "need not go", "is back", "has joined", "has failed", "a clock tells", "successors",
		"forbidden", "replacements", "force deletes", "yet to follow", "lost canaries", "absent",
	}
	for shape := range shapes(&model.Snapshot{}) {
		all = append(all, shape)
	}
	add := func(kind string, names ...string) {
		for _, name := range names {
			all = append(all, kind+" "+name)
		}
	}
	add("rule", texts(recordedRules...)...)
	add("phase", texts(model.ClusterIdle, model.ClusterRolling, model.ClusterWaiting, model.ClusterPaused, model.ClusterStalled, model.ClusterDone)...)
	add("action", texts(model.ActionRestart, model.ActionHandoff, model.ActionEvacuate, model.ActionRemove, model.ActionReplace, model.ActionRestore, model.ActionLowerPartition)...)
	add("prepare", texts(model.PrepareNone, model.PrepareHandoff, model.PrepareEvacuate)...)
	add("reason", texts(model.ReasonOutdated, model.ReasonNeverStarted, model.ReasonFailed, model.ReasonRestartRequested,
		model.ReasonNodeDrain, model.ReasonScaleDown, model.ReasonReplacement, model.ReasonAdopt)...)
	add("claim", texts(recordedPhases...)...)
	return all
}

func texts[T ~string](names ...T) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = string(name)
	}
	return out
}
