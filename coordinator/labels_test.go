package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// labelOracle is what is seen of the labels of a database with one primary: the API server's pods,
// and who really takes the writes.
type labelOracle struct {
	// refuses is true if the primary's agent refuses to hand over, waits until when it waits for a
	// long write.
	refuses bool
	waits   time.Time
	// old is true if the agents know no orders to keep writes.
	old bool
	// handedOver is when the primary changed last, and arrived how long the label then took.
	handedOver time.Time
	arrived    []time.Duration
}

// addPrimary makes a database of which one member takes the writes. No two of its pods may ever be
// labelled as the primary.
func (w *world) addPrimary(replicas int) *database {
	db := w.add("search", replicas)
	w.mu.Lock()
	defer w.mu.Unlock()
	db.onePrimary = true
	w.written = func(kubetest.Call) {
		labelled := db.labelledPrimary()
		if len(labelled) > 1 {
			w.t.Errorf("%v are labelled as the primary", labelled)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if o := &db.labels; !o.handedOver.IsZero() && slices.Equal(labelled, []string{db.leader}) {
			o.arrived, o.handedOver = append(o.arrived, time.Since(o.handedOver)), time.Time{}
		}
	}
	return db
}

// labelledPrimary are the pods to which writes are sent.
func (db *database) labelledPrimary() (pods []string) {
	for pair := range strings.FieldsSeq(db.roles()) {
		if pod, ok := strings.CutSuffix(pair, "="+v1alpha1.RolePrimary); ok {
			pods = append(pods, pod)
		}
	}
	return pods
}

// roles are the labels of all pods: "search-0=primary search-1=replica".
func (db *database) roles() string {
	var out []string
	for i := range db.replicas {
		if pod, ok := db.w.server.Pod(namespace, fmt.Sprintf("%s-%d", db.name, i)); ok {
			out = append(out, pod.Name+"="+pod.Labels[v1alpha1.LabelRole])
		}
	}
	return strings.Join(out, " ")
}

// promote makes another member the primary, or none, as another manager would.
func (db *database) promote(pod string) {
	db.w.mu.Lock()
	defer db.w.mu.Unlock()
	db.leader, db.labels.handedOver = pod, time.Now()
	db.told()
}

// handOver is asked of the primary's agent. It returns an answer if the role stays. mu is held.
func (db *database) handOver(m *member, keepWrites bool) *rollcallv1.DrainResponse {
	o := &db.labels
	waits := time.Now().Before(o.waits)
	answer := &rollcallv1.DrainResponse{State: rollcallv1.Drain_DRAIN_DRAINING, Detail: "a long write", Writes: rollcallv1.Writes_WRITES_MAY_STOP}
	switch pod, _ := db.w.server.Pod(namespace, m.pod); {
	case o.refuses:
		return &rollcallv1.DrainResponse{State: rollcallv1.Drain_DRAIN_REFUSED, Detail: "no replica can take over"}
	case waits && o.old:
		return &rollcallv1.DrainResponse{State: rollcallv1.Drain_DRAIN_DRAINING, Detail: "a long write"}
	case waits && keepWrites:
		answer.Writes = rollcallv1.Writes_WRITES_KEPT
		return answer
	case waits:
		return answer
	case keepWrites && !o.old:
		answer.Writes = rollcallv1.Writes_WRITES_READY
		return answer
	case pod.Labels[v1alpha1.LabelRole] == v1alpha1.RolePrimary && !o.old:
		db.w.t.Errorf("%s is asked to stop writes that its label still brings it", m.pod)
	}
	o.handedOver = time.Now()
	return nil
}

// tellPrimary adds what a member tells of such a database. mu is held.
func (m *member) tellPrimary(r *rollcallv1.Report, data *rollcallv1.Group) {
	r.Groups = append(r.Groups, &rollcallv1.Group{Id: model.PrimaryGroup, Kind: rollcallv1.GroupKind_GROUP_KIND_ROLE, MinAvailable: 1, NeedsLeader: true, Members: data.Members})
	data.NeedsLeader = false
	if !m.live {
		return
	}
	r.Roles = []string{model.RoleReplica}
	if m.db.leader == m.pod {
		r.Roles = []string{model.RolePrimary}
	}
}

const wellLabelled = "search-0=primary search-1=replica search-2=replica"

// inLabelledWorld runs f on a database of three whose labels are right, and which has been idle for long.
func inLabelledWorld(t *testing.T, f func(t *testing.T, w *world, db *database, p *process)) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.addPrimary(3)
		p := w.start()
		time.Sleep(5 * time.Minute)
		require.Equal(t, wellLabelled, db.roles())
		require.LessOrEqual(t, p.writes["patch pods"], 5, "one for each pod, and two before it was known what all are")
		f(t, w, db, p)
		p.end()
	})
}

// An idle database costs no writes and no report streams, with labels as without.
func TestLabelsCostNothingAtRest(t *testing.T) {
	inLabelledWorld(t, func(t *testing.T, w *world, _ *database, p *process) {
		before := p.total()
		w.mu.Lock()
		open := w.watching
		w.mostWatching = 0
		w.mu.Unlock()
		require.Zero(t, open)
		time.Sleep(time.Hour)
		require.Equal(t, before, p.total())
		require.Zero(t, w.mostWatching)
	})
}

// The label leaves the old primary before its agent is asked, comes to the new one at once, and
// each change is one write: off the old primary, on the new one, and on each recreated pod.
func TestLabelFollowsARollout(t *testing.T) {
	inLabelledWorld(t, func(t *testing.T, w *world, db *database, p *process) {
		before := p.writes["patch pods"]
		db.roll("v2")
		db.requireDone(3*time.Minute, "v2")
		time.Sleep(10 * time.Second)
		require.Equal(t, "search-0=replica search-1=primary search-2=replica", db.roles())
		require.Len(t, db.labels.arrived, 1)
		require.Less(t, db.labels.arrived[0], 100*time.Millisecond)
		require.Equal(t, 3+5, p.writes["patch pods"]-before, "three are noted before they go")
	})
}

// Somebody else moves the role of an idle database.
func TestLabelFollowsAnotherManager(t *testing.T) {
	inLabelledWorld(t, func(t *testing.T, w *world, db *database, p *process) {
		before := p.writes["patch pods"]
		db.promote("search-2")
		time.Sleep(10 * time.Second)
		require.Equal(t, "search-0=replica search-1=replica search-2=primary", db.roles())
		require.Less(t, db.labels.arrived[0], 3*time.Second)
		require.Equal(t, 2, p.writes["patch pods"]-before)
		time.Sleep(5 * time.Minute)
		require.Zero(t, w.watching, "it rests again")
	})
}

// What is not known changes no label: an agent that is unavailable, a server that was killed, a
// coordinator that ends and another that begins. Another primary does.
func TestLabelStaysWhileNothingIsKnown(t *testing.T) {
	inLabelledWorld(t, func(t *testing.T, w *world, db *database, p *process) {
		before := p.writes["patch pods"]
		w.mu.Lock()
		primary := db.members["search-0"]
		primary.live = false
		primary.server.Stop()
		w.mu.Unlock()
		db.promote("")
		time.Sleep(5 * time.Minute)
		require.Equal(t, wellLabelled, db.roles())
		require.Equal(t, before, p.writes["patch pods"])
		second := w.start()
		defer second.end()
		p.stop()
		<-p.done
		time.Sleep(time.Minute)
		require.Equal(t, wellLabelled, db.roles())
		require.Zero(t, second.writes["patch pods"])
		db.promote("search-1")
		time.Sleep(20 * time.Second)
		require.Equal(t, "search-0= search-1=primary search-2=replica", db.roles())
	})
}

// A handover that does not take place: the label comes back, at once where the agent refuses, soon
// where it waits.
func TestLabelComesBack(t *testing.T) {
	for name, break1 := range map[string]func(o *labelOracle){
		"refused":                             func(o *labelOracle) { o.refuses = true },
		"waits":                               func(o *labelOracle) { o.waits = time.Now().Add(time.Hour) },
		"waits, and is of an earlier version": func(o *labelOracle) { o.waits, o.old = time.Now().Add(time.Hour), true },
	} {
		t.Run(name, func(t *testing.T) {
			inLabelledWorld(t, func(t *testing.T, w *world, db *database, p *process) {
				w.mu.Lock()
				break1(&db.labels)
				w.mu.Unlock()
				db.roll("v2")
				var without, longest time.Duration
				for range 1200 {
					time.Sleep(100 * time.Millisecond)
					if without += 100 * time.Millisecond; len(db.labelledPrimary()) > 0 {
						without = 0
					}
					longest = max(longest, without)
				}
				require.Equal(t, wellLabelled, db.roles())
				require.LessOrEqual(t, longest, 6*time.Second)
				require.NotContains(t, w.gone(), "search-0 v1")
				if name != "refused" {
					require.NotZero(t, longest, "it is taken off first")
				}
				w.mu.Lock()
				db.labels = labelOracle{old: db.labels.old}
				w.mu.Unlock()
				db.requireDone(10*time.Minute, "v2")
				time.Sleep(10 * time.Second)
				require.Len(t, db.labelledPrimary(), 1)
			})
		})
	}
}

// A pause keeps the labels right; who only looks on writes none, and a DatabaseCluster that goes
// leaves them.
func TestLabelsInAPauseAndWhenObserved(t *testing.T) {
	inLabelledWorld(t, func(t *testing.T, w *world, db *database, p *process) {
		db.edit(func(c *v1alpha1.DatabaseCluster) {
			c.Annotations = map[string]string{v1alpha1.AnnotationPaused: "true"}
		})
		db.promote("search-1")
		time.Sleep(10 * time.Second)
		require.Equal(t, []string{"search-1"}, db.labelledPrimary())
		db.edit(func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Mode = model.ModeObserve })
		before := p.writes["patch pods"]
		db.promote("search-2")
		time.Sleep(5 * time.Minute)
		require.Equal(t, []string{"search-1"}, db.labelledPrimary())
		require.Equal(t, before, p.writes["patch pods"])
		require.NoError(t, w.admin.Clusters.DatabaseClusters(namespace).Delete(t.Context(), db.name, metav1.DeleteOptions{}))
		time.Sleep(time.Minute)
		require.Equal(t, []string{"search-1"}, db.labelledPrimary())
	})
}

// Labels that somebody else has written, or a template brings, are corrected.
func TestLabelsOfOthersAreCorrected(t *testing.T) {
	inLabelledWorld(t, func(t *testing.T, w *world, db *database, p *process) {
		for _, value := range []string{v1alpha1.RolePrimary, ""} {
			pod, _ := w.server.Pod(namespace, "search-2")
			pod.Labels[v1alpha1.LabelRole] = value
			_, err := w.admin.Kubernetes.CoreV1().Pods(namespace).Update(t.Context(), pod, metav1.UpdateOptions{})
			require.NoError(t, err)
			time.Sleep(5 * time.Second)
			require.Equal(t, wellLabelled, db.roles())
		}
	})
}

// Two coordinators that both think that they lead, while the role moves all the time: never are two
// pods labelled, which the world checks after each write, and in the end it is the right one.
func TestTwoLeadersLabelOnePrimary(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.addPrimary(3)
		first := w.start()
		defer first.end()
		time.Sleep(20 * time.Second)
		for i := range 30 {
			var second *process
			if i%3 == 0 {
				second = w.start()
			}
			db.promote(fmt.Sprintf("search-%d", i%3))
			time.Sleep(time.Duration(300*i) * time.Millisecond)
			if second != nil {
				second.end()
			}
		}
		db.promote("search-1")
		time.Sleep(time.Minute)
		require.Equal(t, []string{"search-1"}, db.labelledPrimary())
	})
}
