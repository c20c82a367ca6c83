package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// labeller is a coordinator that labels roles. What it writes is noted, and no two pods may be
// labelled as the primary after any write.
type labeller struct {
	w      *world
	leader *leader
	// before is called with the number of each request, from 1.
	before func(call int, c kubetest.Call) error
	calls  int
	wrote  []string
}

func newLabeller(w *world, before func(call int, c kubetest.Call) error) *labeller {
	l := &labeller{w: w, before: before}
	p := newProcess(w, 0, false)
	require.NoError(w.t, p.start())
	client := w.server.Client(func(c kubetest.Call) (func() error, error) {
		l.calls++
		if l.before != nil {
			if err := l.before(l.calls, c); err != nil {
				return nil, err
			}
		}
		return func() error {
			if c.Verb == "patch" {
				l.wrote = append(l.wrote, c.Name+" "+w.role(c.Name))
			}
			w.requireOnePrimary()
			return nil
		}, nil
	})
	l.leader = p.leader
	l.leader.pods, l.leader.options.Kubernetes, l.leader.options.Clusters = NewPods(client.Kubernetes, namespace), client.Kubernetes, client.Clusters
	return l
}

func (w *world) role(pod string) string {
	object, ok := w.server.Pod(namespace, pod)
	require.True(w.t, ok)
	return object.Labels[v1alpha1.LabelRole]
}

func (w *world) requireOnePrimary() {
	var labelled []string
	for _, pod := range w.pods {
		if w.role(pod) == v1alpha1.RolePrimary {
			labelled = append(labelled, pod)
		}
	}
	if len(labelled) > 1 {
		w.t.Errorf("%v are labelled as the primary", labelled)
	}
}

func (w *world) setRole(pod, role string) {
	object, _ := w.server.Pod(namespace, pod)
	object.Labels[v1alpha1.LabelRole] = role
	_, err := w.server.Client(nil).Kubernetes.CoreV1().Pods(namespace).Update(context.Background(), object, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

// label has a pod labelled as the primary, and others as replicas.
func (l *labeller) label(primary string, fence bool, replicas ...string) effect.RolesLabelled {
	cluster, _ := l.w.server.Cluster(namespace, name)
	e := effect.LabelRoles{Fence: fence, Expected: effect.Expected{Object: effect.Object{Generation: cluster.Generation}}}
	target := func(pod string) effect.Target {
		object, _ := l.w.server.Pod(namespace, pod)
		return effect.Target{Pod: pod, UID: string(object.UID)}
	}
	if primary != "" {
		e.Primary = target(primary)
	}
	for _, pair := range replicas {
		pod, role, _ := strings.Cut(pair, "=")
		e.Roles = append(e.Roles, effect.RoleLabel{Pod: target(pod), Role: role})
	}
	return l.leader.labelRoles(context.Background(), e).(effect.RolesLabelled)
}

// The label is off every other pod, as the API server has confirmed, before one gets it, whatever
// the cache has shown.
func TestThePrimaryIsLabelledLast(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		l := newLabeller(w, nil)
		require.NoError(t, l.label("s-0", true, "s-1=replica", "s-2=replica").Err)
		require.Equal(t, []string{"s-1 replica", "s-2 replica", "s-0 primary"}, l.wrote, "and that is a fence")
		l.wrote = nil
		res := l.label("s-1", false)
		require.NoError(t, res.Err)
		require.Equal(t, []string{"s-0 ", "s-1 primary"}, l.wrote, "nobody has told of s-0")
		require.Len(t, res.Pods, 3)
		l.wrote = nil
		require.NoError(t, l.label("s-1", false).Err)
		require.Empty(t, l.wrote, "it is labelled")

		l.before = func(_ int, c kubetest.Call) error {
			if c.Verb == "patch" && c.Name == "s-1" {
				return errors.New("somebody's webhook refuses")
			}
			return nil
		}
		require.ErrorContains(t, l.label("s-2", false, "s-1=replica").Err, "somebody's webhook refuses")
		require.Empty(t, l.wrote)
		require.Equal(t, v1alpha1.RoleReplica, w.role("s-2"))
	})
}

// A replica whose label can not be written does not keep the primary from its own.
func TestAReplicaHoldsNoLabelUp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		l := newLabeller(w, func(_ int, c kubetest.Call) error {
			if c.Verb == "patch" && c.Name == "s-2" {
				return errors.New("refused")
			}
			return nil
		})
		res := l.label("s-0", false, "s-1=replica", "s-2=replica")
		require.ErrorContains(t, res.Err, "refused")
		require.False(t, res.Unanswered)
		require.Equal(t, v1alpha1.RolePrimary, w.role("s-0"))
		require.Equal(t, v1alpha1.RoleReplica, w.role("s-1"))
	})
}

// Pods change all the time. What has changed since it was read is read again.
func TestLabelsAreWrittenToWhatWasRead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		changes := 2
		l := newLabeller(w, func(_ int, c kubetest.Call) error {
			if c.Verb == "patch" && changes > 0 {
				changes--
				w.label(c.Name, fmt.Sprint(changes))
			}
			return nil
		})
		require.NoError(t, l.label("s-0", true, "s-1=replica").Err)
		require.Equal(t, v1alpha1.RolePrimary, w.role("s-0"))

		changes = 100
		require.ErrorIs(t, l.label("s-1", false).Err, effect.ErrConflict)
		require.Less(t, 100-changes, 10, "not for ever")
	})
}

// A label that had no answer may be there, or come later.
func TestALabelWithoutAnAnswerIsTold(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		l := newLabeller(w, func(_ int, c kubetest.Call) error {
			if c.Verb == "patch" && c.Name == "s-0" {
				return context.DeadlineExceeded
			}
			return nil
		})
		res := l.label("s-0", true)
		require.True(t, res.Unanswered)
		require.False(t, res.Fenced)
		require.False(t, l.label("s-1", true).Unanswered, "a fence without an answer labels nobody")
	})
}

// Two leaders, each of which is stopped at each of its requests while the other goes on: what the
// former one sends late is carried out by the API server after the later one has labelled another.
// Never are two labelled, and what is labelled in the end is what the later leader has said.
func TestTwoLabellersAtEveryRequest(t *testing.T) {
	for _, had := range []string{"", "s-0", "s-1", "s-2"} {
		for first := 1; first <= 7; first++ {
			for second := range 8 {
				t.Run(fmt.Sprintf("%s %d %d", had, first, second), func(t *testing.T) {
					inWorld(t, func(t *testing.T, w *world) { labelBoth(t, w, had, first, second) })
				})
			}
		}
	}
}

// labelBoth stops the former leader at a request, and lets it go on at one of the later leader, or
// after all of them (0).
func labelBoth(t *testing.T, w *world, had string, first, second int) {
	if had != "" {
		w.setRole(had, v1alpha1.RolePrimary)
	}
	stopped, resume, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	former := newLabeller(w, func(call int, _ kubetest.Call) error {
		if call == first {
			close(stopped)
			<-resume
		}
		return nil
	})
	go func() {
		defer close(ended)
		former.label("s-0", true)
		former.before = nil
	}()
	select {
	case <-stopped:
	case <-ended: // it needs fewer requests
		return
	}
	let := func() {
		if resume != nil {
			close(resume)
			<-ended
			resume = nil
		}
	}
	later := newLabeller(w, func(call int, _ kubetest.Call) error {
		if call == second {
			let()
		}
		return nil
	})
	require.NoError(t, later.label("s-1", true).Err)
	let()
	require.Equal(t, v1alpha1.RolePrimary, w.role("s-1"))
	require.False(t, slices.Contains([]string{w.role("s-0"), w.role("s-2")}, v1alpha1.RolePrimary))
	require.NoError(t, later.label("s-2", false).Err, "without a fence, as it has made one")
	require.Equal(t, v1alpha1.RolePrimary, w.role("s-2"))
}
