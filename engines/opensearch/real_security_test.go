package opensearch

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/opensearch/opensearchtest"
	"github.com/rollcall-dev/rollcall/engines/web"
)

const agentPassword = "Mango-Tree-Under-Snow-7"

// createUser makes the agents' user as the documents say.
func createUser(n *opensearchtest.Node, role Role) {
	const api = "/_plugins/_security/api/"
	user, _ := json.Marshal(map[string]string{"password": agentPassword})
	n.Call("PUT", api+"internalusers/"+RoleName, string(user))
	n.Call("PUT", api+"roles/"+RoleName, role.JSON())
	n.Call("PUT", api+"rolesmapping/"+RoleName, `{"users":["`+RoleName+`"]}`)
}

func agentAccess(c *opensearchtest.Cluster, n *opensearchtest.Node) web.Access {
	return web.Access{
		Host: n.Host, Port: n.Port, TLS: web.TLS{Enabled: true, CA: c.Authority.CA},
		Credentials: func() (string, credentials.Secret, error) { return RoleName, credentials.NewSecret(agentPassword), nil },
	}
}

// without returns the role without one of its permissions.
func (r Role) without(permission string) Role {
	drop := func(p string) bool { return p == permission }
	out := Role{Cluster: slices.DeleteFunc(slices.Clone(r.Cluster), drop)}
	for _, p := range r.Indices {
		out.Indices = append(out.Indices, IndexPermissions{Patterns: p.Patterns, Actions: slices.DeleteFunc(slices.Clone(p.Actions), drop)})
	}
	return out
}

// TestRealSmallestRole checks that the role in the documents is enough for all that the agent does, and that each
// permission in it is needed and named when it is missing.
func TestRealSmallestRole(t *testing.T) {
	versions := opensearchtest.SecuredVersions
	if os.Getenv(envAll) == "" {
		versions = versions[len(versions)-1:]
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			c := opensearchtest.Start(t, opensearchtest.Options{Versions: []string{version, version}, Security: &opensearchtest.Security{}})
			n := c.Nodes[0]
			createUser(n, SmallestRole())
			n.Call("PUT", "/logs", `{"settings":{"number_of_shards":2,"number_of_replicas":0,"index.routing.allocation.include._name":"`+n.Name+`"}}`)
			n.Call("PUT", "/logs/_settings", `{"index.routing.allocation.include._name":null}`)
			nowhere := func() {
				n.Call("PUT", "/nowhere?wait_for_active_shards=1", `{"settings":{"number_of_shards":1,"number_of_replicas":1,"index.routing.allocation.include._name":"`+n.Name+`"}}`)
			}
			nowhere()
			e := mustNew(t, Options{Access: agentAccess(c, n)})
			o := await(t, e, "as agent", func(o engines.Observation) bool { return o.Health.Verdict == engines.VerdictRecoverable })
			require.Contains(t, o.Health.Reason, "nowhere/0", "explained")
			require.NotZero(t, o.DataBytes)
			n.Call("DELETE", "/nowhere", "")
			for _, kind := range []engines.Kind{engines.Handoff, engines.Evacuate} {
				order := engines.Order{Kind: kind, Claim: "claim-" + kind.String()}
				undo, err := e.PlanDrain(t.Context(), order)
				require.NoError(t, err)
				t.Log(repeat(t, func() (engines.Progress, error) { return e.Drain(t.Context(), order, undo) }))
				repeat(t, func() (engines.Progress, error) { return e.Restore(t.Context(), undo) })
			}
			require.NoError(t, e.Sweep(t.Context(), nil))
			nowhere()
			for _, permission := range SmallestRole().permissions() {
				n.Call("PUT", "/_plugins/_security/api/roles/"+RoleName, SmallestRole().without(permission).JSON())
				err := everything(t, mustNew(t, Options{Access: agentAccess(c, n)}))
				require.Error(t, err, "not needed: %s", permission)
				t.Log(err)
				status, ok := web.Status(err)
				require.True(t, ok && status.Denied(), err)
				require.Contains(t, err.Error(), strings.TrimSuffix(permission, "*"), "what is missing is named")
			}
		})
	}
}

// everything makes each call that the agent makes.
func everything(t *testing.T, e *Engine) error {
	ctx, a := t.Context(), e.api
	known, err := a.reading(ctx, nil, nil)
	if err == nil {
		require.NotEmpty(t, known.undecided())
		_, err = a.placeless(ctx, known.undecided()[0])
	}
	_, identity := a.identity(ctx)
	_, health := a.health(ctx)
	_, size := a.dataBytes(ctx)
	_, expanding := a.autoExpanding(ctx)
	return errors.Join(err, identity, health, size, expanding, a.change(ctx, changes{"cluster.metadata.rollcall.test": nil}, nil),
		a.excludeVoters(ctx, []string{"no-such-node"}, nil), a.clearVoters(ctx), a.flush(ctx))
}
