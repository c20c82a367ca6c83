package solr

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/rollcall-dev/rollcall/engines/web"
)

// RoleName is the name that the documents give to the agents' user and to its role.
const RoleName = "rollcall"

// Role is what RuleBasedAuthorizationPlugin must permit.
type Role struct {
	Permissions []Permission
}

// Permission is an entry of the permissions in security.json. Solr looks at the first one that fits a request, so its
// roles are all that may do it.
type Permission struct {
	Name string
	// Paths make it a permission of our own, for what Solr has none, or one that opens more. Its collection is null, as
	// for all that is asked of the cluster.
	Paths []string
	Roles []string
}

// Names of permissions that Solr has, and of our own.
const (
	permissionRead    = "collection-admin-read"
	permissionEdit    = "collection-admin-edit"
	permissionMetrics = "metrics-read"
	permissionUpdate  = "update"
	permissionNode    = "rollcall-node"
	permissionBalance = "rollcall-balance"
)

// paths of our own permissions, as Solr sees them inside.
var (
	pathsNode    = []string{"/admin/info/system", "/admin/info/health"}
	pathsBalance = []string{"/____v2/cluster/replicas/balance"}
)

// SmallestRole returns the permissions that the agents' user needs: with fewer, something that the agent does is
// refused. "admin" stands for the roles of those who may do all of it already.
func SmallestRole() Role {
	roles := []string{RoleName, "admin"}
	out := Role{}
	for _, name := range []string{permissionRead, permissionEdit, permissionMetrics, permissionUpdate} {
		out.Permissions = append(out.Permissions, Permission{Name: name, Roles: roles})
	}
	// config-read opens all configurations beside the node's name, and 8.11 asks for neither it nor for health.
	return Role{append(out.Permissions,
		Permission{Name: permissionNode, Paths: pathsNode, Roles: roles},
		Permission{Name: permissionBalance, Paths: pathsBalance, Roles: roles})}
}

// JSON returns the entry in one line.
func (p Permission) JSON() string {
	roles, _ := json.Marshal(p.Roles) // strings only
	path := ""
	if len(p.Paths) > 0 {
		list, _ := json.Marshal(p.Paths)
		path = fmt.Sprintf(`"collection": null, "path": %s, `, list)
	}
	return fmt.Sprintf(`{"name": %q, %s"role": %s}`, p.Name, path, roles)
}

// JSON returns the permissions in the form of security.json, one a line.
func (r Role) JSON() string {
	lines := make([]string, len(r.Permissions))
	for i, p := range r.Permissions {
		lines[i] = "  " + p.JSON()
	}
	return "\"permissions\": [\n" + strings.Join(lines, ",\n") + "\n]\n"
}

// needs names the permission that a request needs.
func needs(r web.Request) string {
	switch r.Path {
	case pathSystem, pathHealth:
		return permissionNode
	case pathMetrics:
		return permissionMetrics
	case pathBalance:
		return permissionBalance
	case pathCollections:
		switch r.Params.Get("action") {
		case "CLUSTERSTATUS", "OVERSEERSTATUS", "REQUESTSTATUS", "DELETESTATUS":
			return permissionRead
		}
		return permissionEdit
	}
	if strings.HasSuffix(r.Path, "/update") {
		return permissionUpdate
	}
	return ""
}

// namePermission says in a refusal which permission the user lacks: Solr does not.
func namePermission(err error, r web.Request) error {
	var refused *web.StatusError
	if errors.As(err, &refused) && refused.Status == http.StatusForbidden && needs(r) != "" {
		refused.Likely = strings.Replace(cmp.Or(refused.Likely, "the user lacks a permission"), "a permission", "the permission "+needs(r), 1)
	}
	return err
}
