package arrows

import (
	"fmt"
	"slices"
	"strings"
)

// Module is the module of the repository.
const Module = "github.com/rollcall-dev/rollcall"

// shared are the folders of engines that are no adapters: what these have in common.
var shared = []string{"credentials", "enginetest", "sorted", "sql", "web"}

// Adapters returns the folders of engines with a database's adapter: all but the known shared ones,
// so that the rules apply to a new adapter too.
func Adapters(packages []Package) []string {
	return children(packages, "engines", shared)
}

// children returns the folders directly below a folder that have packages, except some.
func children(packages []Package, folder string, but []string) []string {
	var found []string
	for _, p := range packages {
		rest, below := strings.CutPrefix(p.ImportPath, Module+"/"+folder+"/")
		name, _, _ := strings.Cut(rest, "/")
		if path := folder + "/" + name; below && !slices.Contains(but, name) && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	slices.Sort(found)
	return found
}

var kubernetes = []string{"k8s.io", "sigs.k8s.io"}

// Rules returns the rules of the repository for the present adapters and packages.
func Rules(packages []Package) []Rule {
	adapters := Adapters(packages)
	var common []string
	for _, name := range shared {
		common = append(common, "engines/"+name)
	}
	rules := []Rule{
		{Name: "the agent knows no Kubernetes", From: []string{"agent", "cmd/rollcall-agent"}, Never: kubernetes},
		{Name: "the agent knows no coordinator", From: []string{"agent", "cmd/rollcall-agent"}, Never: []string{"coordinator"}},
		{Name: "the agent's library knows no database", From: []string{"agent"}, Never: append(common, adapters...)},
		{Name: "what adapters share knows none of them", From: common, Never: adapters},
		{Name: "gossip knows nothing of databases", From: []string{"agent/gossip"}, Never: []string{"engines"}},
		{Name: "engines know databases only", From: []string{"engines"}, Never: append([]string{"agent", "coordinator", "proto", "github.com/hashicorp/memberlist"}, kubernetes...)},
		// The simulation runs the whole coordinator, which knows them all.
		{Name: "no room of the coordinator knows a database", From: children(packages, "coordinator", []string{"sim"}), Never: append(common, adapters...)},
		{Name: "no program has tests in it", From: []string{"agent", "cmd", "coordinator", "engines", "proto"}, Never: []string{"test"}},
		// Only rollcall rehearse has a simulation to show, and it runs on a person's machine.
		{Name: "what runs beside a database has no simulation", From: []string{
			"agent", "engines", "cmd/rollcall-agent", "cmd/rollcall-coordinator",
		}, Never: []string{"coordinator/sim"}},
		// What proves the FoundationDB adapter must not make the adapter's mistakes, so they share nothing.
		{Name: "the simulated FoundationDB knows nothing of Rollcall", From: []string{"test/fdbsim"}, Never: []string{
			"agent", "cmd", "coordinator", "engines", "proto",
		}},
		{Name: "the model and the policy know no engine", From: []string{"coordinator/model", "coordinator/policy"}, Never: []string{"engines"}},
		{Name: "what is known of a cluster knows no rules", From: []string{"coordinator/policy/cluster"}, Never: []string{"coordinator/policy"}},
		{Name: "a forecast knows no rules", From: []string{"coordinator/policy/forecast"}, Never: []string{"coordinator/policy"}},
		{Name: "the model decides nothing", From: []string{"coordinator/model"}, Never: []string{"coordinator/policy"}},
		{Name: "effects know nothing of who decides on them", From: []string{"coordinator/rollout/effect"}, Never: []string{"coordinator/rollout", "coordinator/policy"}},
		{Name: "policy is values in, values out", From: []string{"coordinator/model", "coordinator/policy"}, StandardOnly: true},
		{Name: "the rollout core is values in, values out", From: []string{"coordinator/progress", "coordinator/rollout"}, StandardOnly: true},
	}
	for _, adapter := range adapters {
		others := slices.DeleteFunc(slices.Clone(adapters), func(other string) bool { return other == adapter })
		rules = append(rules, Rule{Name: fmt.Sprintf("%s knows no other adapter", adapter), From: []string{adapter}, Never: others})
	}
	return rules
}
