package opensearch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// RoleName is the name that the documents give to the agents' user and to its role.
const RoleName = "rollcall"

// Role is a role of the security plugin, in the form that its REST API takes.
type Role struct {
	Cluster []string           `json:"cluster_permissions"`
	Indices []IndexPermissions `json:"index_permissions"`
}

// IndexPermissions are permissions on indices.
type IndexPermissions struct {
	Patterns []string `json:"index_patterns"`
	Actions  []string `json:"allowed_actions"`
}

// SmallestRole returns the permissions that the agents' user needs: with fewer, something that the agent does is
// refused. It reads no document.
func SmallestRole() Role {
	return Role{
		Cluster: []string{
			"cluster:monitor/state",
			"cluster:monitor/health",
			"cluster:monitor/nodes/info",
			"cluster:monitor/nodes/stats",
			"cluster:monitor/allocation/explain",
			"cluster:admin/settings/update",
			"cluster:admin/voting_config/add_exclusions",
			"cluster:admin/voting_config/clear_exclusions",
		},
		Indices: []IndexPermissions{{
			Patterns: []string{"*"},
			Actions:  []string{"indices:admin/flush*", "indices:monitor/settings/get"},
		}},
	}
}

// permissions are all of the role, on whatever they are.
func (r Role) permissions() []string {
	all := slices.Clone(r.Cluster)
	for _, p := range r.Indices {
		all = append(all, p.Actions...)
	}
	return all
}

// JSON returns the role as the body of PUT _plugins/_security/api/roles/NAME.
func (r Role) JSON() string {
	text, _ := json.MarshalIndent(r, "", "  ") // strings and lists only
	return string(text) + "\n"
}

// YAML returns the role as an entry of the plugin's roles.yml.
func (r Role) YAML() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s:\n  cluster_permissions:\n", RoleName)
	list := func(indent string, values []string) {
		for _, v := range values {
			fmt.Fprintf(&text, "%s- %q\n", indent, v)
		}
	}
	list("    ", r.Cluster)
	if len(r.Indices) == 0 {
		return text.String()
	}
	text.WriteString("  index_permissions:\n")
	for _, p := range r.Indices {
		text.WriteString("    - index_patterns:\n")
		list("        ", p.Patterns)
		text.WriteString("      allowed_actions:\n")
		list("        ", p.Actions)
	}
	return text.String()
}
