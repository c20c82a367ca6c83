package coordinator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// rollWithAgents changes the template, whose pods have an agent from now on.
func (db *database) rollWithAgents(to string) {
	db.w.mu.Lock()
	db.bare = false
	db.w.mu.Unlock()
	db.roll(to)
}

func (db *database) approveAdoption() {
	clusters := db.w.admin.Clusters.DatabaseClusters(namespace)
	cluster, err := clusters.Get(db.w.t.Context(), db.name, metav1.GetOptions{})
	require.NoError(db.w.t, err)
	cluster.Status.Approvals = []model.Approval{{What: model.ApprovedAdopt, By: "a person", At: model.At(time.Now())}}
	_, err = clusters.UpdateStatus(db.w.t.Context(), cluster, metav1.UpdateOptions{})
	require.NoError(db.w.t, err)
}

// No agent says that the next pod may go, as it does not know how to. Where leaders are
// elected that is no reason to wait for ever. A primary that only its own agent could hand
// over for might be that pod, so it stays, and a person reads why.
func TestOnlyTheirOwnAgentsHandOver(t *testing.T) {
	for engine, gone := range map[model.Engine]int{model.Solr: 3, model.MySQL: 1, model.MariaDB: 1} {
		t.Run(string(engine), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				db := w.addPools("search", engine, true, &pool{name: "search", replicas: 3})
				p := w.start()
				defer p.end()
				db.rollWithAgents("v2")
				db.approveAdoption()
				vetoed := ""
				for range 900 {
					time.Sleep(time.Second)
					for _, hold := range db.status().Holds {
						if hold.Rule == model.RuleVeto {
							vetoed = hold.Reason
						}
					}
				}
				require.Len(t, w.gone(), gone)
				if gone < 3 {
					require.Contains(t, vetoed, "it has no agent, and no other one has said that it may go: hand over for it through search-2")
				}
			})
		})
	}
}
