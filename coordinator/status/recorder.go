package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Controller is the name under which Events are reported.
const Controller = "rollcall.dev/coordinator"

// Limits that the API server sets on the texts of an Event, in bytes.
const (
	maxNote     = 1024
	maxInstance = 128
)

const (
	// sameWithin is the time in which an equal Event is counted in the previous one and not written
	// again.
	sameWithin = 10 * time.Minute
	// burst and every bound the Events about one cluster: burst at once, then one every so often.
	burst = 60
	every = 2 * time.Second
	// queued is how many Events may wait to be written.
	queued = 1000
)

// RecorderOptions are the options of a Recorder.
type RecorderOptions struct {
	// Instance is the name of this coordinator's pod.
	Instance string
	// Log logs Events that could not be written. Default: slog.Default().
	Log *slog.Logger
}

// Recorder is an Observer that writes Events. Events that cannot be written are dropped, because
// they only inform and nothing depends on them.
type Recorder struct {
	client eventsclient.EventsV1Interface
	opts   RecorderOptions
	queue  chan Event

	// Only Run uses these.
	written map[identity]*series
	budgets map[Key]*rate.Limiter
	dropped int
	named   int64
}

// NewRecorder returns a Recorder that writes Events through the client.
func NewRecorder(client eventsclient.EventsV1Interface, opts RecorderOptions) (*Recorder, error) {
	if opts.Instance == "" {
		return nil, errors.New("event recorder: instance is empty: must be the name of this coordinator's pod")
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	return &Recorder{
		client: client, opts: opts, queue: make(chan Event, queued), written: map[identity]*series{}, budgets: map[Key]*rate.Limiter{},
	}, nil
}

// Decided queues what happened between two decisions.
func (r *Recorder) Decided(previous *Decision, next Decision) {
	for _, e := range Events(previous, next) {
		r.Record(e)
	}
}

// Gone does nothing: the Events of a cluster outlive it.
func (r *Recorder) Gone(Key) {}

// Record queues an Event, or drops it if too many wait.
func (r *Recorder) Record(e Event) {
	select {
	case r.queue <- e:
	default:
	}
}

// Run writes Events until the context ends.
func (r *Recorder) Run(ctx context.Context) error {
	forget := time.NewTicker(sameWithin)
	defer forget.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-forget.C:
			r.forget(time.Now())
		case e := <-r.queue:
			r.write(ctx, e, time.Now())
		}
	}
}

// write writes an Event about the cluster and, if there is a pod, another one about the pod, so
// that describing either shows it.
func (r *Recorder) write(ctx context.Context, e Event, now time.Time) {
	b := r.budgets[e.Cluster]
	if b == nil {
		b = rate.NewLimiter(rate.Every(every), burst)
		r.budgets[e.Cluster] = b
	}
	if !b.AllowN(now, 1) {
		r.dropped++
		return
	}
	cluster := corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(),
		Kind:       v1alpha1.Kind,
		Namespace:  e.Cluster.Namespace,
		Name:       e.Cluster.Name,
		UID:        types.UID(e.ClusterUID),
	}
	if e.Pod == "" {
		r.record(ctx, e, cluster, nil, now)
		return
	}
	pod := corev1.ObjectReference{
		APIVersion: "v1",
		Kind:       "Pod",
		Namespace:  e.Cluster.Namespace,
		Name:       e.Pod,
		UID:        types.UID(e.PodUID),
	}
	r.record(ctx, e, cluster, &pod, now)
	r.record(ctx, e, pod, &cluster, now)
}

// identity says which Events are equal.
type identity struct {
	kind, namespace, name, uid string
	reason, note               string
}

type series struct {
	name  string
	count int32
	last  time.Time
}

func (r *Recorder) record(ctx context.Context, e Event, regarding corev1.ObjectReference, related *corev1.ObjectReference, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	note := cut(e.Note, maxNote)
	id := identity{regarding.Kind, regarding.Namespace, regarding.Name, string(regarding.UID), e.Reason, note}
	if s := r.written[id]; s != nil && now.Sub(s.last) < sameWithin {
		s.count++
		s.last = now
		if err := r.countAgain(ctx, regarding.Namespace, s); err == nil {
			return
		}
		// It has expired, or somebody has removed it: write it again.
	}
	s := &series{name: r.eventName(regarding.Name, now), count: 1, last: now}
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	_, err := r.client.Events(regarding.Namespace).Create(ctx, &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: s.name, Namespace: regarding.Namespace},
		EventTime:           metav1.NewMicroTime(now),
		ReportingController: Controller,
		ReportingInstance:   cut(r.opts.Instance, maxInstance),
		Action:              e.Reason,
		Reason:              e.Reason,
		Regarding:           regarding,
		Related:             related,
		Note:                note,
		Type:                kind,
	}, metav1.CreateOptions{})
	if err != nil {
		if ctx.Err() == nil {
			r.opts.Log.Warn("event not written", "reason", e.Reason, "cluster", e.Cluster.String(), "pod", e.Pod, "error", err)
		}
		return
	}
	r.written[id] = s
}

// countAgain records that a written Event has happened again.
func (r *Recorder) countAgain(ctx context.Context, namespace string, s *series) error {
	patch, err := json.Marshal(map[string]any{"series": eventsv1.EventSeries{
		Count:            s.count,
		LastObservedTime: metav1.NewMicroTime(s.last),
	}})
	if err != nil {
		return fmt.Errorf("event series as JSON: %w", err)
	}
	_, err = r.client.Events(namespace).Patch(ctx, s.name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// forget drops what can no longer matter.
func (r *Recorder) forget(now time.Time) {
	for id, s := range r.written {
		if now.Sub(s.last) >= sameWithin {
			delete(r.written, id)
		}
	}
	for key, b := range r.budgets {
		if b.TokensAt(now) >= burst {
			delete(r.budgets, key)
		}
	}
	if r.dropped > 0 {
		r.opts.Log.Info("events dropped because there were too many", "count", r.dropped)
		r.dropped = 0
	}
}

// eventName returns a unique name: it contains the clock, which is advanced if it has not moved.
// The name of an object may be as long as that of an Event, so it may have to be cut.
func (r *Recorder) eventName(object string, now time.Time) string {
	const longest = 253 - len(".ffffffffffffffff")
	r.named = max(now.UnixNano(), r.named+1)
	return fmt.Sprintf("%s.%x", cut(object, longest), r.named)
}

// cut returns at most n bytes of a text, without splitting a character.
func cut(text string, n int) string { return strings.ToValidUTF8(text[:min(len(text), n)], "") }
