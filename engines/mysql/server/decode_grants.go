package server

import (
	"regexp"
	"slices"
	"strings"
)

// granted is a grant on everything, of the account itself or of a role that it has now.
var granted = regexp.MustCompile(`^GRANT ([A-Z_, ]+) ON \*\.\* TO `)

// lacks returns the privileges that the account needs to hand over and has not: to elect another primary
// in a group, and to switch over otherwise. Nothing is missing where the server does not tell.
func (a answers) lacks(d *dialect, inGroup bool) (missing []string) {
	var has []string
	for _, r := range a.grants {
		for _, text := range r { // the one column is called after the account
			if found := granted.FindStringSubmatch(text); found != nil {
				for privilege := range strings.SplitSeq(found[1], ",") {
					has = append(has, strings.TrimSpace(privilege))
				}
			}
		}
	}
	if len(has) == 0 || slices.Contains(has, "ALL PRIVILEGES") || slices.Contains(has, "SUPER") {
		return nil
	}
	needed := []string{d.needs.readOnly, d.needs.replica, d.needs.kill, d.needs.forget}
	if inGroup {
		needed = []string{d.needs.group}
	}
	for _, privilege := range needed {
		if !slices.Contains(has, privilege) {
			missing = append(missing, privilege)
		}
	}
	return missing
}
