package policy

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// overridable reports whether an override can switch the rule off.
func overridable(rule model.Rule) bool { return slices.Contains(model.Overridable(), rule) }

// needsNames reports whether an override of the rule must name its pods.
func needsNames(rule model.Rule) bool {
	everybody := model.Override{Rule: rule, Pods: []string{"*"}, Reason: "r", Expires: model.At(noon.Add(time.Second))}
	return overridable(rule) && !everybody.InForce(noon)
}

// Validation refuses such overrides, and they have no effect if they are read anyway.
func TestPlanNamesTheCopyThatIsGivenUp(t *testing.T) {
	for _, c := range []struct {
		rule model.Rule
		pods []string
		in   bool // in force
	}{
		{model.RuleHealth, []string{"*"}, true},
		{model.RuleSoleCopy, []string{"solr-0"}, true},
		{model.RuleSoleCopy, []string{"*"}, false},
		{model.RuleQuorum, []string{"solr-0", "*"}, false},
		{model.RuleAcks, []string{"*"}, false},
		{model.RuleNodeGone, []string{"*"}, false},
		{model.RuleNodeGone, []string{"solr-0"}, true},
		{model.RuleBadInput, []string{"solr-0"}, false},
		{model.RuleClaimed, []string{"solr-0"}, false},
		{model.RuleTerminating, []string{"solr-0"}, false},
	} {
		over := activeOverrides([]model.Override{{Rule: c.rule, Pods: c.pods, Expires: model.At(noon.Add(time.Second))}}, noon)
		require.Equal(t, c.in, over.of(c.rule, "solr-0") != nil, "%s of %v", c.rule, c.pods)
	}
	over := activeOverrides([]model.Override{{Rule: model.RuleHealth, Pods: []string{"*"}, Expires: model.At(noon)}}, noon)
	require.Nil(t, over.of(model.RuleHealth, "solr-0"), "it ends when it expires")
}
