package coordinator

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
	"github.com/rollcall-dev/rollcall/test/race"
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
	db.onePrimary, db.leader, db.fixed, db.said = true, "db-primary-0", "db-primary-0", db.saidOfFixed
	w.mu.Unlock()
	clusters := w.admin.Clusters.DatabaseClusters(namespace)
	cluster, err := clusters.Get(w.t.Context(), "db", metav1.GetOptions{})
	require.NoError(w.t, err)
	cluster.Spec.Update.Primary = model.PrimaryRestartInPlace
	_, err = clusters.Update(w.t.Context(), cluster, metav1.UpdateOptions{})
	require.NoError(w.t, err)
	return db
}

// saidOfFixed makes a report one of servers that do not know each other well: a replica knows its
// source by the name of a Service and no other replica, and the primary does not know how its replicas
// are or, where they are nameless, which there are. mu is held.
func (db *database) saidOfFixed(pod string, r *rollcallv1.Report) *rollcallv1.Report {
	r.Topology = rollcallv1.Topology_TOPOLOGY_FIXED_PRIMARY
	if len(db.pools) == 1 {
		r.Topology = rollcallv1.Topology_TOPOLOGY_SINGLE_SERVER
	}
	primary := db.node(db.fixed)
	bare := func(node string) bool { return !db.hasAgent(strings.TrimSuffix(node, ":8983_solr")) }
	var nodes []*rollcallv1.MemberNode
	for _, n := range r.GetNodes() {
		switch {
		case n.GetName() == primary && bare(primary):
			nodes = append(nodes, &rollcallv1.MemberNode{Name: "db-service", Address: "db-service", Member: n.GetMember()})
		case !bare(n.GetName()):
			nodes = append(nodes, n)
		case pod == db.fixed && !db.nameless:
			nodes = append(nodes, &rollcallv1.MemberNode{Name: n.GetName(), Address: n.GetAddress()})
		}
	}
	r.Nodes = nodes
	if pod == db.fixed {
		r.Last = true
	}
	for _, g := range r.GetGroups() {
		members := []*rollcallv1.Member{}
		for _, m := range g.GetMembers() {
			switch {
			case g.GetId() == model.PrimaryGroup && m.GetNode() != primary:
				continue
			case m.GetNode() != primary && bare(m.GetNode()):
				if pod != db.fixed || db.nameless {
					continue
				}
				m = &rollcallv1.Member{Id: m.GetId(), Node: m.GetNode()}
			case m.GetNode() == primary && bare(primary):
				m = &rollcallv1.Member{Id: "service", Node: "db-service", State: m.GetState(), Leader: true, Eligible: true}
			}
			members = append(members, m)
		}
		g.Members = members
	}
	return r
}

// hasAgent reports whether the pod was made with one. mu is held.
func (db *database) hasAgent(pod string) bool {
	m := db.members[pod]
	return m != nil && m.revision != "v1"
}

// restart has the pod deleted by a person.
func (db *database) restart(pod string) {
	require.NoError(db.w.t, db.w.admin.Kubernetes.CoreV1().Pods(namespace).Delete(db.w.t.Context(), pod, metav1.DeleteOptions{}))
	time.Sleep(time.Minute)
}

// A database with a fixed primary gets its agents to the end, once somebody has approved: its replicas
// first, its primary last and announced, one at a time and without a handover. It does so, too, where
// the primary has its agent already, and cannot tell which pods its replicas are.
func TestFixedPrimaryIsAdopted(t *testing.T) {
	race.Heavy(t)
	replicas := []string{"db-replica-1 v1", "db-replica-0 v1"}
	for name, c := range map[string]struct {
		replicas int
		before   func(*database)
		want     []string
	}{
		"with two replicas":      {2, func(*database) {}, append(replicas, "db-primary-0 v1")},
		"a single server":        {0, func(*database) {}, []string{"db-primary-0 v1"}},
		"the primary went first": {2, func(db *database) { db.restart("db-primary-0") }, append([]string{"db-primary-0 v1"}, replicas...)},
		"it cannot name them": {2, func(db *database) {
			db.nameless = true
			db.restart("db-primary-0")
		}, append([]string{"db-primary-0 v1"}, replicas...)},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				db := w.addFixed(c.replicas)
				p := w.start()
				defer p.end()
				db.rollWithAgents("v2")
				c.before(db)
				gone := len(w.gone())
				time.Sleep(10 * time.Minute)
				require.Len(t, w.gone(), gone, "nobody has approved it")
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
				require.Equal(t, c.want, w.gone())
				require.Equal(t, 1, most, "one at a time")
				require.Equal(t, c.replicas > 0 && gone == 0, announced)
				require.Equal(t, model.ClusterDone, db.status().Phase)
				primary, _ := w.server.Pod(namespace, "db-primary-0")
				require.Equal(t, v1alpha1.RolePrimary, primary.Labels[v1alpha1.LabelRole])
			})
		})
	}
}

// A pod that its agent finds unsettled, or that Kubernetes does not find Ready, holds the adoption.
func TestAdoptionInPlaceWaitsForEachPod(t *testing.T) {
	for name, spoil := range map[string]func(*database){
		"not settled": func(db *database) {
			fixed := db.said
			db.said = func(pod string, r *rollcallv1.Report) *rollcallv1.Report {
				if r = fixed(pod, r); pod == "db-replica-1" {
					r.Settled = false
				}
				return r
			}
		},
		"not Ready": func(db *database) { db.unreadyOn = "v2" },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				db := w.addFixed(2)
				spoil(db)
				p := w.start()
				defer p.end()
				db.rollWithAgents("v2")
				db.approveAdoption()
				time.Sleep(10 * time.Minute)
				require.Equal(t, []string{"db-replica-1 v1"}, w.gone())
			})
		})
	}
}

// Members of Galera without an agent count by what the others list, so that all get theirs.
func TestGaleraIsAdopted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.addPools("db", model.Galera, true, &pool{name: "db", replicas: 3})
		db.said = func(_ string, r *rollcallv1.Report) *rollcallv1.Report {
			r.Topology = rollcallv1.Topology_TOPOLOGY_GALERA
			for _, g := range r.GetGroups() {
				g.NeedsLeader = false
			}
			return r
		}
		p := w.start()
		defer p.end()
		db.rollWithAgents("v2")
		db.approveAdoption()
		time.Sleep(20 * time.Minute)
		require.Equal(t, []string{"db-2 v1", "db-1 v1", "db-0 v1"}, w.gone())
		require.Equal(t, model.ClusterDone, db.status().Phase)
	})
}
