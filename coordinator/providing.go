package coordinator

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/consent"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

const (
	// provisionEvery is how often what the pods need is looked after, and
	// provisionRetry how soon after a failure.
	provisionEvery = 10 * time.Minute
	provisionRetry = 5 * time.Second
	// consentRetry is how soon it is looked whether a Secret allows what it did not.
	consentRetry = 30 * time.Second
)

// provided is what the agents were given.
type provided struct {
	// providedFor notes for what it was, and due when that is to be done again; stale asks for
	// it at once.
	providedFor string
	due         time.Time
	stale       atomic.Bool
	// withheld is what the DatabaseCluster names and is not used, and why; told: it was asked.
	withheld string
	told     bool
}

// provide looks after what the pods need, and answers when to do so again.
func (s *session) provide(ctx context.Context, now time.Time, objects kube.ClusterObjects) time.Time {
	wanted := fmt.Sprint(objects.Cluster.Generation)
	for i := range objects.Pools {
		wanted += " " + objects.Pools[i].Name
	}
	for _, secret := range MountedSecrets(objects) {
		wanted += " secret " + secret
	}
	wanted += fmt.Sprint(objects.PodNetworks())
	if s.stale.Swap(false) || wanted != s.providedFor || !now.Before(s.due) {
		ctx, cancel := s.bound(ctx)
		defer cancel()
		next, err := s.options.Provision(ctx, objects)
		s.providedFor, s.due = wanted, now.Add(provisionEvery)
		refused, failed := consent.Split(err)
		switch {
		case failed:
			s.log.Warn("what the agents need could not be provided", "error", err)
			next = now.Add(provisionRetry)
		case refused != s.withheld:
			if refused != "" {
				s.log.Warn("something that the DatabaseCluster names is not used", "reason", refused)
			}
			s.withheld = refused
		}
		s.told = s.told || !failed
		if !failed && refused != "" {
			s.due = now.Add(consentRetry)
		}
		if next.After(now) && next.Before(s.due) {
			s.due = next
		}
	}
	return s.due
}

// refusedNow is what the DatabaseCluster names and is not used, and why. Until Kubernetes has
// answered, it is what was said before this term.
func (s *session) refusedNow(cluster *v1alpha1.DatabaseCluster) string {
	if c := conditionOf(cluster.Status, v1alpha1.ConditionWithheld); !s.told && c.Status == metav1.ConditionTrue {
		return c.Message
	}
	return s.withheld
}

// MountedSecrets are those with credentials that the pods' agents mount, sorted; first an empty name
// if an agent mounts none.
func MountedSecrets(objects kube.ClusterObjects) []string {
	var names []string
	for i := range objects.Pods {
		if name := objects.Pods[i].Credentials; (name != "" || objects.Pods[i].Agent) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
