package audit

import (
	"net/http"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Right is one verb on one resource: "patch pods", "update databaseclusters.rollcall.dev/status".
type Right string

func right(verb, group, resource, sub string) Right {
	if group != "" {
		resource += "." + group
	}
	if sub != "" {
		resource += "/" + sub
	}
	return Right(verb + " " + resource)
}

// Given are the rights that rules give, sorted. Names that a rule is restricted to
// are left out.
func Given(rules []rbacv1.PolicyRule) []Right {
	var list []Right
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				name, sub := split(resource)
				for _, verb := range rule.Verbs {
					list = append(list, right(verb, group, name, sub))
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func split(resource string) (name, sub string) {
	for i := range resource {
		if resource[i] == '/' {
			return resource[:i], resource[i+1:]
		}
	}
	return resource, ""
}

// Used are the rights that requests made use of, sorted, and those that were refused.
func Used(requests []Request) (used, refused []Right) {
	for _, r := range requests {
		if r.Object.Resource == "" {
			continue // /version, /api and the like are everybody's
		}
		x := right(r.Verb, r.Object.Group, r.Object.Resource, r.Object.Subresource)
		if r.Response.Code == http.StatusForbidden && !admitted(r) {
			refused = append(refused, x)
			continue
		}
		used = append(used, x)
	}
	slices.Sort(used)
	slices.Sort(refused)
	return slices.Compact(used), slices.Compact(refused)
}

// admitted reports whether the user had the right, and something else refused the request.
func admitted(r Request) bool { return r.Annotations["authorization.k8s.io/decision"] == "allow" }
