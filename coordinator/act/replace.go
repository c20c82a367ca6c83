package act

import "github.com/rollcall-dev/rollcall/coordinator/policy"

// refuseReplacements notes of every pod that should be replaced that it cannot
// be: emptying it and giving up its volume is not carried out yet. The policy
// then holds such pods in words, and what they would have taken of a budget is
// there for others.
func refuseReplacements(s *policy.Snapshot) {
	wanted := map[string]bool{}
	for _, name := range policy.Replacements(*s) {
		wanted[name] = true
	}
	for i := range s.Pods {
		if wanted[s.Pods[i].Name] {
			s.Pods[i].Refused = policy.Vetoed
		}
	}
}
