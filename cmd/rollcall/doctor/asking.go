package doctor

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/listen"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/security"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Asking is what a pod of a StatefulSet is asked.
type Asking struct {
	Pod  string
	Port int
	// Secret has the username and password that are tried, and Client the certificate that agents
	// will show; empty means none.
	Secret, Client string
	Question       listen.Question
}

// paths say nothing without a login where servers want one. The operator of Solr lets everybody ask for
// other things, for its probes.
var paths = map[model.Engine]string{model.OpenSearch: "/", model.Solr: "/solr/admin/collections?action=LIST&wt=json"}

// Asking returns what to ask of which pod; false where it is known already, by its agents, or where
// there is nobody to ask.
func (f *Facts) Asking(set *appsv1.StatefulSet) (a Asking, ask bool) {
	w, known := f.WantOf(set)
	path, speaks := paths[w.Engine]
	if !known || !speaks || f.Live == nil || f.work(set) || !config.OwnHost(w.Connection.Host) {
		return a, false
	}
	i := slices.IndexFunc(f.Live.Pods, func(p corev1.Pod) bool { return Owned(&p, set) && ready(&p) })
	if i < 0 {
		return a, false
	}
	a.Pod = f.Live.Pods[i].Name
	a.Port = cmp.Or(int(w.Connection.Port), config.UsualPort(string(w.Engine)))
	a.Secret, a.Client = f.secretOf(set, w), w.Connection.TLS.ClientSecret
	a.Question.Path, a.Question.ServerName = path, ExpectedName(w.Connection)
	if held, read := f.certificatesIn(set, w.Connection.TLS.CASecret); read {
		a.Question.CA = held[config.KeyCA]
	}
	return a, true
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// MountedSecrets are the Secrets that pods mount and that may have certificates, of servers that speak
// TLS.
func (f *Facts) MountedSecrets() (names []string) {
	for i := range f.Sets {
		w, known := f.WantOf(&f.Sets[i])
		if known && w.TLS.State == security.On && !f.work(&f.Sets[i]) {
			names = append(names, w.Secrets...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
