package oracle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
)

const (
	// elsewhere is for how long a label may bring writes to a pod that does not take them, while
	// another does and nothing is wrong.
	elsewhere = 3 * time.Second
	// nowhere is for how long none may bring them to the pod that does. It loses its label before it
	// is asked to hand over.
	nowhere = 8 * time.Second
)

// labels are what a Service would send writes to, as the API server has it, and what takes them.
type labels struct {
	// labelled are the pods that are labelled as the primary, primary is the one that is.
	labelled []string
	primary  string
	// wrong is since when a label brings writes to another pod, missing since when none brings them
	// to the primary, and primaryAt since when that is the primary. All are negative if it is not so.
	wrong, missing, primaryAt time.Duration
	late                      bool
}

// labelled notes the labels after a pod was written, and accuses of two at once.
func (l *labels) labelledOf(o *Oracle) {
	l.labelled = nil
	for _, name := range o.server.Names(api.Pods) {
		if o.server.Pod(name).Labels[v1alpha1.LabelRole] == v1alpha1.RolePrimary {
			l.labelled = append(l.labelled, name)
		}
	}
	if len(l.labelled) > 1 {
		o.Accuse("I14", "%v are labelled as the primary", l.labelled)
	}
}

// follows compares the labels with the primary, which the world has.
func (l *labels) follows(o *Oracle) {
	if o.db.Acks() == 0 {
		return
	}
	at := o.loop.Now()
	since := func(was *time.Duration, is bool) {
		if !is {
			*was = -1
		} else if *was < 0 {
			*was = at
		}
	}
	stopping := o.db.Stopping()
	if stopping != "" && slices.Contains(l.labelled, stopping) {
		o.Accuse("I14", "%s is labelled as the primary, and its writes are stopped", stopping)
	}
	primary := ""
	if now := o.db.Truth()[0].Leader; o.db.Serves(now) && o.tended(now) {
		primary = now
	}
	if primary != l.primary {
		l.primary, l.primaryAt = primary, at
	}
	known := primary != "" && primary != stopping && len(o.epochs) > 0
	since(&l.wrong, known && len(l.labelled) > 0 && !slices.Contains(l.labelled, primary))
	since(&l.missing, known && !slices.Contains(l.labelled, primary))
}

// inTime accuses of labels that are late where nothing is wrong.
func (l *labels) inTime(o *Oracle) {
	at := o.loop.Now()
	switch {
	case !o.limits.Quiet || l.late:
	case l.wrong >= 0 && at-l.wrong > elsewhere:
		l.late = true
		o.Accuse("L4", "%v is labelled as the primary, and %s is the primary", l.labelled, l.primary)
	case l.missing >= 0 && at-l.missing > nowhere:
		l.late = true
		o.Accuse("L4", "%s is the primary, and is not labelled so", l.primary)
	}
}

// atLast judges the labels when all faults are long over.
func (l *labels) atLast(o *Oracle) {
	pod := o.server.Pod(l.primary)
	observed := o.server.Cluster(o.limits.Cluster).Spec.Update.Mode == model.ModeObserve
	if pod == nil || leaves(pod) || observed || o.loop.Now()-l.primaryAt < told {
		return
	}
	if !slices.Equal(l.labelled, []string{l.primary}) {
		o.Accuse("L4", "%v are labelled as the primary at the end, and %s is the primary", l.labelled, l.primary)
	}
}

func leaves(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil }
