package consent

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

var secrets = corev1.SchemeGroupVersion.WithResource("secrets")

// Look returns the metadata of a Secret, and reads nothing else. It returns nil if there is none.
func Look(ctx context.Context, client metadata.Interface, namespace, name string) (*metav1.ObjectMeta, error) {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return nil, nil // no object has such a name
	}
	secret, err := client.Resource(secrets).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	// A Secret that was applied with kubectl has its content in an annotation, which is not passed
	// on.
	return &metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: secret.Labels, Annotations: only(secret.Annotations)}, nil
}

func only(annotations map[string]string) map[string]string {
	hosts, there := annotations[v1alpha1.AnnotationAllowHosts]
	if !there {
		return nil
	}
	return map[string]string{v1alpha1.AnnotationAllowHosts: hosts}
}

const (
	// patience is how long the webhook waits for an answer: a pod waits for it.
	patience = 500 * time.Millisecond
	// turn is how long it waits for its turn.
	turn = 100 * time.Millisecond
	// perSecond and atOnce bound how often it asks.
	perSecond, atOnce = 50, 100
)

// Asker asks on behalf of pods that are being created. Anybody who reaches the webhook can invent
// pods, so it asks one question at a time, and not too many.
type Asker struct {
	client  metadata.Interface
	asking  chan struct{}
	limiter flowcontrol.RateLimiter
}

// NewAsker returns an Asker.
func NewAsker(client metadata.Interface) *Asker {
	return &Asker{client: client, asking: make(chan struct{}, 1), limiter: flowcontrol.NewTokenBucketRateLimiter(perSecond, atOnce)}
}

// errBusy means that others are asking.
var errBusy = errors.New("the API server is being asked about too many Secrets")

// Secret returns the metadata of a Secret, nil if there is none, or an error within less than a
// second.
func (a *Asker) Secret(ctx context.Context, namespace, name string) (*metav1.ObjectMeta, error) {
	if !a.limiter.TryAccept() {
		return nil, errBusy
	}
	select {
	case a.asking <- struct{}{}:
	case <-time.After(turn):
		return nil, errBusy
	}
	defer func() { <-a.asking }()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return Look(ctx, a.client, namespace, name)
}
