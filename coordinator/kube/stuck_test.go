package kube

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ktesting "k8s.io/client-go/testing"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

var unlisted = Key{Namespace: "tenant", Name: "unlisted"}

// addBoth adds two databases of one pool each, and a pod of the first.
func (w *world) addBoth(t *testing.T) {
	for _, key := range []Key{search, unlisted} {
		w.addCluster(t, key)
		set := statefulSet(key.Name, types.UID(key.Name))
		set.Namespace, set.Labels = key.Namespace, map[string]string{v1alpha1.LabelCluster: key.Name}
		w.addPod(t, ownedPod(set, 0))
		w.addSet(t, set)
	}
}

// listing has lists of the pods of a database do something first.
func (w *world) listing(key Key, do func() error) {
	w.kubernetes.PrependReactor("list", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		if a.(ktesting.ListAction).GetListRestrictions().Labels.String() != "app="+key.Name {
			return false, nil, nil
		}
		err := do()
		return err != nil, nil, err
	})
}

// Where Synced is false a coordinator that starts does not become ready, and does not stand
// for election. A StatefulSet of which nobody can list the pods is its own database's trouble,
// of which Missing tells, and nobody else's.
func TestOneTenantKeepsNoCoordinatorFromStarting(t *testing.T) {
	for name, list := range map[string]func() error{
		"refused": func() error { return errors.New("http2: request header list larger than peer's advertised limit") },
		"long URL": func() error {
			return &url.Error{Op: "Get", URL: strings.Repeat("u", 1<<20), Err: errors.New("too long")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.listing(unlisted, list)
				w.addBoth(t)
				time.Sleep(time.Second)
				require.False(t, w.Synced(), "it is waited for, for a while")
				time.Sleep(failsFor)
				require.True(t, w.Synced())
				require.Equal(t, []string{"search-0"}, w.names(search))
				_, ok := w.Cluster(unlisted)
				require.False(t, ok, "nothing is decided on it")
				require.Contains(t, w.Missing(unlisted), "the pods of StatefulSet unlisted are not known: ")
				require.Less(t, len(w.Missing(unlisted)), maxProblem+200)
				if name == "long URL" {
					require.True(t, strings.HasSuffix(w.Missing(unlisted), "too long"), "what is wrong is said behind the URL")
				}
				_, ok = w.DatabaseCluster(unlisted)
				require.True(t, ok, "the webhook does not ask for pods")
			})
		})
	}
}

// A pool of which the API server says nothing at all is waited for longer: it may be slow.
func TestSilenceIsWaitedForLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := Pool{Name: "search", UID: "s"}
		c := &Cache{pods: map[types.UID]*podWatch{}}
		require.False(t, c.answered(pool), "not asked for yet")
		c.pods["s"] = &podWatch{pool: pool, began: time.Now(), synced: func() bool { return false }}
		time.Sleep(silentFor - time.Second)
		require.False(t, c.answered(pool))
		time.Sleep(time.Second)
		require.True(t, c.answered(pool))
	})
}

// The API server is cut off for a second while a coordinator starts: it waits, and no
// database is judged by half of its pods.
func TestABlipAtTheStartIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		began := time.Now()
		w.listing(search, func() error {
			if time.Since(began) < time.Second {
				return errors.New("connection refused")
			}
			return nil
		})
		w.addBoth(t)
		other := statefulSet("search-b", "b") // of the same database, whose pods are known at once
		other.Labels[v1alpha1.LabelCluster] = search.Name
		w.addPod(t, ownedPod(other, 0))
		w.addSet(t, other)
		synctest.Wait() // the cache knows of all of them
		for !w.Synced() {
			_, ok := w.Cluster(search)
			require.False(t, ok && len(w.names(search)) < 2, "half of the pods")
			time.Sleep(50 * time.Millisecond)
		}
		require.Equal(t, []string{"search-0", "search-b-0"}, w.names(search))
		require.Less(t, time.Since(began), failsFor)
	})
}

// A selector is part of a URL, for which a server has room of some KiB.
func TestLongSelectorsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.addBoth(t)
		var values []string
		for i := range 20_000 {
			values = append(values, fmt.Sprint(i))
		}
		set := statefulSet("long", "long")
		set.Namespace, set.Labels = unlisted.Namespace, map[string]string{v1alpha1.LabelCluster: unlisted.Name}
		set.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpIn, Values: values}}}
		w.addSet(t, set)
		time.Sleep(time.Second)
		require.True(t, w.Synced())
		require.ElementsMatch(t, []string{"search", "unlisted"}, w.watches())
		_, ok := w.Cluster(unlisted)
		require.False(t, ok)
		require.Regexp(t, "the pods of StatefulSet long are not known: its spec.selector takes .* KiB, .* make it again with a shorter one", w.Missing(unlisted))
		require.Equal(t, []string{"search-0"}, w.names(search))
	})
}

// Somebody makes StatefulSets and deletes them, all the time: there is always one whose pods have not been
// listed yet. Those that come a minute after a coordinator has begun are not waited for.
func TestNewStatefulSetsKeepNoCoordinatorFromStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := func() bool { return false }
		c := &Cache{pods: map[types.UID]*podWatch{}, begun: time.Now()}
		old := Pool{Name: "old", UID: "old"}
		c.pods[old.UID] = &podWatch{pool: old, began: time.Now(), synced: never}
		answered := func(i int) (unseen, seen bool) {
			pool := Pool{Name: "churn", UID: types.UID(fmt.Sprint("u", i))}
			unseen = c.answered(pool)
			c.pods[pool.UID] = &podWatch{pool: pool, began: time.Now(), synced: never}
			return unseen, c.answered(pool)
		}
		for i := range 59 {
			unseen, seen := answered(i)
			require.False(t, unseen || seen, "it may have been there before")
			require.False(t, c.answered(old))
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		unseen, seen := answered(60)
		require.True(t, unseen && seen)
		require.True(t, c.answered(old), "of which there was no answer for a minute")
	})
}
