package v1alpha1

import (
	"context"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Of DatabaseClusters with more text than largeText, largeAtOnce are under way at a time:
// while it is read and decoded each takes some times its size, and the API server answers all at once.
const (
	largeText   = 64 << 10
	largeAtOnce = 8
)

// Reduced are clients for a program that holds many DatabaseClusters: what they read is
// without managed fields, labels, owners and others' annotations, and without texts beyond
// the schema's bounds, and few of the large ones are read at a time. What they return must not be written back but by
// UpdateStatus, which leaves the spec as it is.
//
// +kubebuilder:object:generate=false
type Reduced struct {
	Clients
	turns chan struct{}

	mu    sync.Mutex
	large map[types.NamespacedName]struct{}
}

// NewReduced wraps clients.
func NewReduced(clients Clients) *Reduced {
	return &Reduced{Clients: clients, turns: make(chan struct{}, largeAtOnce), large: map[types.NamespacedName]struct{}{}}
}

// DatabaseClusters implements Clients.
func (r *Reduced) DatabaseClusters(namespace string) DatabaseClusters {
	return &reduced{DatabaseClusters: r.Clients.DatabaseClusters(namespace), of: r, namespace: namespace}
}

// reduce takes off what nobody here asks for, and remembers who is large.
func (r *Reduced) reduce(cluster *DatabaseCluster) {
	key := types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}
	size := cluster.reduce()
	r.mu.Lock()
	defer r.mu.Unlock()
	if size > largeText {
		r.large[key] = struct{}{}
	} else {
		delete(r.large, key)
	}
}

// turn waits until a cluster may be read; done must be called after it was reduced.
func (r *Reduced) turn(ctx context.Context, key types.NamespacedName) (done func(), err error) {
	r.mu.Lock()
	_, large := r.large[key]
	r.mu.Unlock()
	if !large {
		return func() {}, nil
	}
	select {
	case r.turns <- struct{}{}:
		return func() { <-r.turns }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type reduced struct {
	DatabaseClusters
	of        *Reduced
	namespace string
}

func (c *reduced) one(ctx context.Context, name string, ask func() (*DatabaseCluster, error)) (*DatabaseCluster, error) {
	done, err := c.of.turn(ctx, types.NamespacedName{Namespace: c.namespace, Name: name})
	if err != nil {
		return nil, err
	}
	defer done()
	cluster, err := ask()
	if err == nil {
		c.of.reduce(cluster)
	}
	return cluster, err
}

func (c *reduced) Get(ctx context.Context, name string, opts metav1.GetOptions) (*DatabaseCluster, error) {
	return c.one(ctx, name, func() (*DatabaseCluster, error) { return c.DatabaseClusters.Get(ctx, name, opts) })
}

func (c *reduced) UpdateStatus(ctx context.Context, cluster *DatabaseCluster, opts metav1.UpdateOptions) (*DatabaseCluster, error) {
	return c.one(ctx, cluster.Name, func() (*DatabaseCluster, error) { return c.DatabaseClusters.UpdateStatus(ctx, cluster, opts) })
}

func (c *reduced) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*DatabaseCluster, error) {
	return c.one(ctx, name, func() (*DatabaseCluster, error) {
		return c.DatabaseClusters.Patch(ctx, name, pt, data, opts, subresources...)
	})
}

// keptAnnotations of a DatabaseCluster are those that a coordinator reads.
var keptAnnotations = []string{AnnotationPaused, AnnotationRestart}

// reduce takes off what of the metadata nobody here asks for, and cuts the texts of a
// DatabaseCluster that was stored before the schema had bounds. Nothing is decided by a
// reason; a longer text elsewhere could never be right. It answers how many bytes of text
// there were.
func (c *DatabaseCluster) reduce() (size int) {
	size = reduceMetadata(&c.ObjectMeta)
	for i := range c.Spec.Overrides {
		reason := &c.Spec.Overrides[i].Reason
		size += max(0, len(*reason)-MaxReason)
		*reason = Cut(*reason, MaxReason)
	}
	return size + cutTexts(reflect.ValueOf(&c.Spec), MaxSpecText) + cutTexts(reflect.ValueOf(&c.Status), maxStatusText)
}

// reduceMetadata leaves the finalizers as they are: who sets one writes all of them.
func reduceMetadata(m *metav1.ObjectMeta) (size int) {
	for i := range m.ManagedFields {
		if fields := m.ManagedFields[i].FieldsV1; fields != nil {
			size += len(fields.GetRawBytes())
		}
	}
	for i := range m.OwnerReferences {
		o := &m.OwnerReferences[i]
		size += len(o.APIVersion) + len(o.Kind) + len(o.Name) + len(o.UID)
	}
	for _, texts := range []map[string]string{m.Labels, m.Annotations} {
		for key, value := range texts {
			size += len(key) + len(value)
		}
	}
	for _, name := range m.Finalizers {
		size += len(name)
	}
	var annotations map[string]string
	for _, key := range keptAnnotations {
		if value, ok := m.Annotations[key]; ok {
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[key] = Cut(value, MaxReason)
		}
	}
	m.ManagedFields = nil
	m.OwnerReferences, m.Labels, m.Annotations = nil, nil, annotations
	return size
}

// cutTexts makes no text longer than most, and answers how many bytes there were.
func cutTexts(v reflect.Value, most int) (size int) {
	switch v.Kind() {
	case reflect.String:
		size = v.Len()
		if size > most && v.CanSet() {
			v.SetString(Cut(v.String(), most))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			size = cutTexts(v.Elem(), most)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Len()
		}
		for i := range v.Len() {
			size += cutTexts(v.Index(i), most)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := v.MapIndex(key)
			if size += cutTexts(key, most) + cutTexts(value, most); value.Kind() == reflect.String && value.Len() > most {
				v.SetMapIndex(key, reflect.ValueOf(Cut(value.String(), most)).Convert(value.Type()))
			}
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			size += cutTexts(field, most)
		}
	}
	return size
}
