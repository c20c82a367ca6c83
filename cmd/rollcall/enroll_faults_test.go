package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// What somebody sets while the doctor looks stays.
func TestEnrollLeavesWhatSomebodySetMeanwhile(t *testing.T) {
	e := newEnrollWorld(t, rolling(t), solr("search"))
	was := e.serving
	done := false
	e.serving = func(rw http.ResponseWriter, r *http.Request) bool {
		if !done && r.Method == http.MethodPost { // the dry POST
			done = true
			three := int32(3)
			e.mu.Lock()
			s := e.sets["search"].DeepCopy()
			s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &three}
			metav1.SetMetaDataLabel(&s.ObjectMeta, v1alpha1.LabelCluster, "other")
			s.ResourceVersion = "2"
			e.sets["search"] = s
			e.show()
			e.mu.Unlock()
		}
		return was(rw, r)
	}
	code, _, stderr := e.run("enroll", "search", "--timeout", "5m")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "StatefulSet search in namespace prod was changed while this looked")
	require.EqualValues(t, 3, *e.sets["search"].Spec.UpdateStrategy.RollingUpdate.Partition)
}

// Kubernetes writes the status of a StatefulSet after each change, in between two of ours.
func TestEnrollGoesOnAfterTheStatusWasWritten(t *testing.T) {
	e := newEnrollWorld(t, rolling(t), solr("search"))
	was := e.serving
	e.serving = func(rw http.ResponseWriter, r *http.Request) bool {
		done := was(rw, r)
		if r.Method == http.MethodPatch && r.URL.Query().Get("dryRun") == "" {
			e.mu.Lock()
			s := e.sets["search"].DeepCopy()
			s.Status.ObservedGeneration++
			s.ResourceVersion += "9"
			e.sets["search"] = s
			e.show()
			e.mu.Unlock()
		}
		return done
	}
	code, stdout, stderr := e.run("enroll", "search", "--timeout", "5m")
	require.Contains(t, stdout, "statefulset/search labelled", stderr)
	require.Contains(t, stdout, "databasecluster/search created", stderr)
	require.Zero(t, code, stderr)
}

// The connection breaks after a write was done.
func TestEnrollDoesNotSayThatNothingWasWritten(t *testing.T) {
	e := newEnrollWorld(t, rolling(t), solr("search"))
	was := e.serving
	e.serving = func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch && r.URL.Query().Get("dryRun") == "" {
			if !was(discard{http.Header{}}, r) {
				return false
			}
			c, _, _ := rw.(http.Hijacker).Hijack()
			c.Close()
			return true
		}
		return was(rw, r)
	}
	code, _, stderr := e.run("enroll", "search", "--timeout", "5m")
	require.Equal(t, 1, code)
	require.NotContains(t, stderr, "nothing was written")
	require.Contains(t, stderr, "whether this was written is not known")
}

type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// An image is a text of somebody else.
func TestEnrollCleansNamesOfImages(t *testing.T) {
	e := newEnrollWorld(t, rolling(t), solr("search", func(s *appsv1.StatefulSet) {
		s.Spec.Template.Spec.Containers[0].Image = "solr:9.10\x1b]0;pwn\x07\r\x1b[2Kall is well"
	}))
	_, _, stderr := e.run("enroll", "search", "--dry-run")
	require.Contains(t, stderr, "note: the engine is Solr")
	require.NotContains(t, stderr, "\x1b")
}

// A DatabaseCluster that is being deleted guards nothing for long.
func TestEnrollDoesNotCountOnWhatIsBeingDeleted(t *testing.T) {
	e := newEnrollWorld(t, rolling(t), solr("search"))
	e.must("enroll", "search")
	now := metav1.Now()
	e.made.DeletionTimestamp, e.made.Finalizers = &now, []string{v1alpha1.Finalizer}
	e.mu.Lock()
	e.show()
	e.mu.Unlock()
	code, _, stderr := e.run("enroll", "search", "--timeout", "5m")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "DatabaseCluster search is being deleted")
}

// A StatefulSet of another kind does not join a database that is there.
func TestEnrollLetsNoOtherEngineJoin(t *testing.T) {
	e := newEnrollWorld(t, rolling(t), solr("search"), solr("books", func(s *appsv1.StatefulSet) { s.UID = "s2"; s.Spec.Template.Spec.Containers[0].Image = "postgres:17" }))
	e.must("enroll", "search")
	e.writes = nil
	_, _, stderr := e.run("enroll", "books", "--name", "search", "--timeout", "5m")
	require.Contains(t, stderr, "the image postgres:17")
	require.Empty(t, e.writes)
	e2 := newEnrollWorld(t, rolling(t), solr("blue"), solr("search", func(s *appsv1.StatefulSet) { s.UID = "s2"; s.Spec.Template.Spec.Containers[0].Image = "mysql:9" }))
	_, _, _ = e2.run("enroll", "blue", "--name", "search", "--timeout", "1s")
	e2.writes = nil
	_, _, stderr = e2.run("enroll", "search", "--timeout", "5m")
	require.Contains(t, stderr, "DatabaseCluster search is of Solr, and the image mysql:9")
	require.Empty(t, e2.writes)
}

// One answer that fails does not end the wait.
func TestEnrollWaitsThroughFailures(t *testing.T) {
	e := newEnrollWorld(t, rolling(t), solr("search"))
	was := e.serving
	n := 0
	e.serving = func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "databaseclusters/search") {
			if n++; n == 1 {
				rw.WriteHeader(503)
				return true
			}
		}
		return was(rw, r)
	}
	code, _, stderr := e.run("enroll", "search", "--timeout", "5m")
	require.Zero(t, code, stderr)
}
