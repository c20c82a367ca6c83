package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// store is the part of an API server that a coordinator of a database without pods needs: objects
// by path, and watches of DatabaseClusters.
type store struct {
	over chan struct{}

	mu       sync.Mutex
	version  int
	objects  map[string]map[string]any
	watches  []chan []byte
	renewed  int
	decision int64
}

func newStore() *store {
	return &store{over: make(chan struct{}), objects: map[string]map[string]any{}}
}

// end ends the watches.
func (s *store) end() { close(s.over) }

// collections are lists, not objects.
var collections = []string{"databaseclusters", "statefulsets", "nodes", "pods", "poddisruptionbudgets", "validatingadmissionpolicies", "validatingadmissionpolicybindings"}

const (
	theLease   = "/apis/coordination.k8s.io/v1/namespaces/rollcall-system/leases/rollcall-coordinator"
	theCluster = "/apis/rollcall.dev/v1alpha1/namespaces/prod/databaseclusters/search"
)

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := bodyOf(r)
	at, status := strings.CutSuffix(r.URL.Path, "/status")
	switch {
	case r.URL.Query().Get("sendInitialEvents") != "":
		refuse(w, http.StatusUnprocessableEntity, "Invalid") // it lists instead
	case r.URL.Query().Get("watch") != "":
		s.watch(w, r)
	case r.Method == http.MethodGet && slices.Contains(collections, path.Base(at)):
		answer(w, http.StatusOK, s.list(at))
	case r.Method == http.MethodGet:
		s.reply(w, http.StatusOK, s.get(at))
	case r.Method == http.MethodPost:
		name, _, _ := unstructured.NestedString(body, "metadata", "name")
		if name == "" || s.get(at+"/"+name) != nil {
			refuse(w, http.StatusConflict, "AlreadyExists")
			return
		}
		s.reply(w, http.StatusCreated, s.put(at+"/"+name, body))
	case r.Method == http.MethodPut && status:
		s.mu.Lock()
		s.decision, _, _ = unstructured.NestedInt64(numbers(body), "status", "observedGeneration")
		object := s.objects[at]
		s.mu.Unlock()
		kept := map[string]any{"apiVersion": object["apiVersion"], "kind": object["kind"], "spec": object["spec"], "metadata": object["metadata"], "status": body["status"]}
		s.reply(w, http.StatusOK, s.put(at, kept))
	case r.Method == http.MethodPut:
		s.reply(w, http.StatusOK, s.put(at, body))
	default:
		s.reply(w, http.StatusOK, s.get(at))
	}
}

// bodyOf also reads protobuf, which clients send of Kubernetes' own objects.
func bodyOf(r *http.Request) (body map[string]any) {
	text, _ := io.ReadAll(r.Body)
	if object, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), text); err == nil {
		text, _ = json.Marshal(object)
	}
	_ = json.Unmarshal(text, &body)
	return body
}

// numbers has integers where JSON has floats.
func numbers(object map[string]any) map[string]any {
	text, _ := json.Marshal(object)
	var u unstructured.Unstructured
	if u.UnmarshalJSON(text) != nil {
		return map[string]any{}
	}
	return u.Object
}

func (s *store) get(at string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[at]
}

// put stores a copy, with the next resourceVersion.
func (s *store) put(at string, object map[string]any) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	text, _ := json.Marshal(object)
	var kept map[string]any
	_ = json.Unmarshal(text, &kept)
	meta, _ := kept["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		kept["metadata"] = meta
	}
	meta["resourceVersion"] = fmt.Sprint(s.version)
	if meta["uid"] == nil {
		meta["uid"] = fmt.Sprint("uid-", s.version)
	}
	s.objects[at] = kept
	if at == theLease {
		s.renewed++
	}
	if at == theCluster {
		event, _ := json.Marshal(map[string]any{"type": "MODIFIED", "object": kept})
		for _, w := range s.watches {
			w <- event
		}
	}
	return kept
}

func (s *store) list(at string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []any{}
	for name, object := range s.objects {
		if path.Base(path.Dir(name)) == path.Base(at) {
			items = append(items, object)
		}
	}
	return map[string]any{"metadata": map[string]any{"resourceVersion": fmt.Sprint(s.version)}, "items": items}
}

func (s *store) watch(w http.ResponseWriter, r *http.Request) {
	events := make(chan []byte, 10_000)
	if path.Base(r.URL.Path) == "databaseclusters" {
		s.mu.Lock()
		s.watches = append(s.watches, events)
		s.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case event := <-events:
			_, _ = w.Write(append(event, '\n'))
		case <-r.Context().Done():
			return
		case <-s.over:
			return
		}
	}
}

func (s *store) reply(w http.ResponseWriter, code int, object map[string]any) {
	if object == nil {
		refuse(w, http.StatusNotFound, "NotFound")
		return
	}
	s.mu.Lock()
	text, _ := json.Marshal(object)
	s.mu.Unlock()
	answer(w, code, json.RawMessage(text))
}

func refuse(w http.ResponseWriter, code int, reason string) {
	answer(w, code, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": reason, "message": reason, "code": code})
}

func answer(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value)
}

// renewals returns the renewals of the lease.
func (s *store) renewals() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewed
}

// acquired is since when the leader leads.
func (s *store) acquired() string {
	text, _, _ := unstructured.NestedString(s.get(theLease), "spec", "acquireTime")
	return text
}

// decided is the generation that the status was written for.
func (s *store) decided() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.decision
}

func (s *store) generation() int64 {
	n, _, _ := unstructured.NestedInt64(numbers(s.get(theCluster)), "metadata", "generation")
	return n
}

// change is what a person does, and returns the generation.
func (s *store) change() int64 {
	object := numbers(s.get(theCluster))
	next := s.generation() + 1
	object["metadata"].(map[string]any)["generation"] = next
	object["spec"] = map[string]any{"engine": "Solr", "policy": map[string]any{"zoneKey": fmt.Sprint("zone-", next)}}
	s.put(theCluster, object)
	return next
}
