package act

import (
	"context"
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// labelTries is how often pods that somebody else has changed since they were read are read again.
const labelTries = 4

// labelRoles labels pods by what their members are. The pods are read first, then the
// DatabaseCluster, and each write names the resourceVersion that was read. So a former leader
// labels no pod as the primary that this one has written since it took over, and Fence has all
// others written before one is.
func (x *Executor) labelRoles(ctx context.Context, e effect.LabelRoles) effect.Result {
	ctx, cancel := x.bound(ctx)
	defer cancel()
	l := labelling{x: x, e: e, written: map[string]effect.PodSeen{}}
	var err error
	for range labelTries {
		if err = l.try(ctx); !errors.Is(err, effect.ErrConflict) {
			break
		}
	}
	res := effect.RolesLabelled{Primary: e.Primary, Fenced: e.Fence && err == nil, Err: err, Unanswered: l.unanswered}
	for _, name := range slices.Sorted(maps.Keys(l.written)) {
		res.Pods = append(res.Pods, l.written[name])
	}
	return res
}

// labelling is one LabelRoles while it is carried out.
type labelling struct {
	x *Executor
	e effect.LabelRoles
	// written are the pods as they are since they were written, by name.
	written map[string]effect.PodSeen
	// unanswered is true if the API server did not answer when it was asked to label the primary.
	unanswered bool
}

func (l *labelling) try(ctx context.Context) error {
	pods, err := l.x.pods.ofDatabase(ctx, l.x.options.Name, l.e.Pools)
	if err != nil {
		return err
	}
	if err := l.x.unchanged(ctx, l.e.Expected); err != nil {
		return err
	}
	var failed error
	for _, pod := range pods {
		if pod.UID == l.e.Primary.UID {
			continue
		}
		if err := l.other(ctx, pod); err != nil {
			if l.e.Fence || pod.Role == v1alpha1.RolePrimary {
				return err
			}
			failed = err // nobody waits for the label of a replica
		}
	}
	if l.e.Primary.UID == "" {
		return failed
	}
	at := slices.IndexFunc(pods, func(p effect.PodSeen) bool { return p.UID == l.e.Primary.UID && !p.Terminating })
	if at < 0 {
		return effect.ErrGone
	}
	if pods[at].Role == v1alpha1.RolePrimary && !l.e.Fence {
		l.written[pods[at].Name] = pods[at]
		return failed
	}
	err = l.write(ctx, pods[at], v1alpha1.RolePrimary)
	l.unanswered = unanswered(err)
	return errors.Join(err, failed)
}

// other labels a pod that is not to be the primary.
func (l *labelling) other(ctx context.Context, pod effect.PodSeen) error {
	role := pod.Role
	if at := slices.IndexFunc(l.e.Roles, func(r effect.RoleLabel) bool { return r.Pod.UID == pod.UID }); at >= 0 {
		role = l.e.Roles[at].Role
	} else if role == v1alpha1.RolePrimary && l.e.Primary.UID != "" {
		role = ""
	}
	_, done := l.written[pod.Name]
	if role == pod.Role && (done || !l.e.Fence) {
		l.written[pod.Name] = pod
		return nil
	}
	if err := l.write(ctx, pod, role); !errors.Is(err, effect.ErrGone) {
		return err
	}
	return nil
}

func (l *labelling) write(ctx context.Context, pod effect.PodSeen, role string) error {
	now, err := l.x.pods.label(ctx, pod, role, l.x.options.Epoch)
	if err == nil {
		l.written[pod.Name] = now
	}
	return err
}

// label labels the pod, provided that it has not changed since it was seen. The pod has a new
// resourceVersion afterwards, even if it had that label.
func (p *Pods) label(ctx context.Context, seen effect.PodSeen, role string, epoch int64) (effect.PodSeen, error) {
	change := change{UID: seen.UID, ResourceVersion: seen.ResourceVersion}
	switch role {
	case seen.Role:
		change.Annotations = map[string]*string{AnnotationEpoch: ptr(stamp(epoch))}
	case "":
		change.Labels = map[string]*string{v1alpha1.LabelRole: nil}
	default:
		change.Labels = map[string]*string{v1alpha1.LabelRole: &role}
	}
	return p.patch(ctx, seen.Name, change)
}

// ofDatabase asks the API server itself for all pods of a database, in the order of their names:
// those of its StatefulSets, and those that are labelled as its own, whose StatefulSet may not be
// shown.
func (p *Pods) ofDatabase(ctx context.Context, cluster string, pools []effect.Pool) ([]effect.PodSeen, error) {
	found := map[string]effect.PodSeen{}
	list := func(selector, owner string) error {
		return p.each(ctx, selector, func(pod *corev1.Pod) {
			by := metav1.GetControllerOf(pod)
			if owner == "" || by != nil && string(by.UID) == owner {
				found[pod.Name] = seenOf(pod)
			}
		})
	}
	if err := list(v1alpha1.LabelCluster+"="+cluster, ""); err != nil {
		return nil, err
	}
	for _, pool := range pools {
		if err := list(pool.Selector, pool.UID); err != nil {
			return nil, err
		}
	}
	var pods []effect.PodSeen
	for _, name := range slices.Sorted(maps.Keys(found)) {
		pods = append(pods, found[name])
	}
	return pods, nil
}
