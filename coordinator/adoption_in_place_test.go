package coordinator

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// addFixed makes a database as charts install it: a primary in a StatefulSet of its own, and its
// replicas. No pod has an agent, and the spec says that the primary restarts in place.
func (w *world) addFixed(replicas int) *database {
	pools := []*pool{{name: "db-primary", replicas: 1}}
	if replicas > 0 {
		pools = append(pools, &pool{name: "db-replica", replicas: replicas})
	}
	db := w.addPools("db", model.MariaDB, true, pools...)
	w.mu.Lock()
	defer w.mu.Unlock()
	db.onePrimary, db.leader, db.said = true, "db-primary-0", db.saidOfFixed
	clusters := w.admin.Clusters.DatabaseClusters(namespace)
	cluster, err := clusters.Get(w.t.Context(), "db", metav1.GetOptions{})
	require.NoError(w.t, err)
	cluster.Spec.Update.Primary = model.PrimaryRestartInPlace
	_, err = clusters.Update(w.t.Context(), cluster, metav1.UpdateOptions{})
	require.NoError(w.t, err)
	return db
}

// saidOfFixed makes a report one of servers that have no name: a replica knows its source by the name
// of a Service, and the primary cannot tell which pods its replicas are. mu is held.
func (db *database) saidOfFixed(pod string, r *rollcallv1.Report) *rollcallv1.Report {
	r.Topology = rollcallv1.Topology_TOPOLOGY_FIXED_PRIMARY
	if len(db.pools) == 1 {
		r.Topology = rollcallv1.Topology_TOPOLOGY_SINGLE_SERVER
	}
	primary := db.node(db.leader)
	bare := func(node string) bool { return !db.hasAgent(strings.TrimSuffix(node, ":8983_solr")) }
	service := func(node string) string {
		if node == primary && bare(node) {
			return "db-service"
		}
		return node
	}
	var nodes []*rollcallv1.MemberNode
	for _, n := range r.GetNodes() {
		if n.GetName() == primary || !bare(n.GetName()) {
			n.Address, n.Name = service(n.GetAddress()), service(n.GetName())
			nodes = append(nodes, n)
		}
	}
	r.Nodes = nodes
	if pod == db.leader {
		r.Last = true
	}
	for _, g := range r.GetGroups() {
		members := []*rollcallv1.Member{}
		for _, m := range g.GetMembers() {
			switch {
			case g.GetId() == model.PrimaryGroup && m.GetNode() != primary:
				continue
			case m.GetNode() != primary && bare(m.GetNode()):
				if pod != db.leader {
					continue // nobody tells a replica of another one
				}
				m = &rollcallv1.Member{Id: m.GetId(), Node: m.GetNode()}
			case m.GetNode() == primary && bare(primary):
				m = &rollcallv1.Member{Id: "service", Node: service(primary), State: m.GetState(), Leader: true, Eligible: true}
			}
			members = append(members, m)
		}
		g.Members = members
		g.Members = slices.Clip(members)
	}
	return r
}

// hasAgent reports whether the pod was made with one. mu is held.
func (db *database) hasAgent(pod string) bool {
	m := db.members[pod]
	return m != nil && m.server != nil
}

// A database with a fixed primary gets its agents to the end, once somebody has approved: its replicas
// first, its primary last and announced, one at a time and without a handover.
func TestFixedPrimaryIsAdopted(t *testing.T) {
	for name, want := range map[string][]string{
		"with two replicas": {"db-replica-1", "db-replica-0", "db-primary-0"},
		"a single server":   {"db-primary-0"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				db := w.addFixed(len(want) - 1)
				p := w.start()
				defer p.end()
				db.rollWithAgents("v2")
				time.Sleep(10 * time.Minute)
				require.Empty(t, w.gone(), "nobody has approved it")
				db.approveAdoption()
				announced, most := false, 0
				for range 1200 {
					time.Sleep(time.Second)
					s := db.status()
					most = max(most, len(s.Claims))
					for _, hold := range s.Holds {
						announced = announced || hold.Pod == "db-primary-0" && strings.Contains(hold.Reason, "then it restarts in place: nobody writes until it is back")
					}
				}
				require.Equal(t, want, podsIn(w.gone()))
				require.Equal(t, 1, most, "one at a time")
				require.Equal(t, len(want) > 1, announced)
				require.Equal(t, model.ClusterIdle, db.status().Phase)
			})
		})
	}
}
