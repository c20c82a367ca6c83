package doctor

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/listen"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/security"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Said is what the user of a command says of connections.
type Said struct {
	// TLS is nil where nothing is said.
	TLS *bool
	// Connection is that of StatefulSets without a DatabaseCluster; nil means that nothing is said.
	Connection *model.Connection
}

// Heard is what a pod of a StatefulSet answered.
type Heard struct {
	Pod string
	listen.Heard
}

// Want is what the servers of one StatefulSet want of the agents, and what agents are told of it.
type Want struct {
	security.Posture
	Engine model.Engine
	// Connection is what is known of it; Told is false where nobody has described it yet.
	Connection model.Connection
	Told       bool
}

// WantOf returns what the servers of a StatefulSet want; false means that nothing is known of their
// engine.
func (f *Facts) WantOf(set *appsv1.StatefulSet) (Want, bool) {
	w := Want{Connection: f.connection(set), Told: f.clusterOf(set) != nil || f.Said.Connection != nil}
	w.Engine = f.engine(set)
	var known bool
	if w.Posture, known = security.Of(w.Engine, set, f.Objects()); !known {
		return w, false
	}
	if name := set.Spec.Template.Annotations[v1alpha1.AnnotationCredentialsSecret]; name != "" {
		w.Connection.CredentialsSecret = name
	}
	if f.Live != nil {
		if h, asked := f.Live.Heard[set.Name]; asked {
			w.hear(h)
		}
	}
	return w, true
}

// connection is what the DatabaseCluster says, or where there is none the user of the command.
func (f *Facts) connection(set *appsv1.StatefulSet) model.Connection {
	if c := f.clusterOf(set); c != nil {
		return f.spec(set).Connection
	}
	if f.Said.Connection != nil {
		return *f.Said.Connection
	}
	return model.Connection{}
}

// hear has what a pod answers count before what objects say. That Solr answers without a login does not
// mean that it wants none for all that agents do.
func (w *Want) hear(h Heard) {
	says := func(a *security.Answer, state security.State, why string) {
		if state != security.Untold {
			*a = security.Answer{State: state, Why: "pod " + h.Pod + " " + why}
		}
	}
	says(&w.TLS, h.TLS, map[bool]string{true: "answers by TLS", false: "answers without TLS"}[h.TLS == security.On])
	if h.Login == security.On || w.Login.State == security.Untold || w.Engine == model.OpenSearch {
		says(&w.Login, h.Login, map[bool]string{true: "refuses requests without a login", false: "answers without a login"}[h.Login == security.On])
	}
	says(&w.Client, h.Client, map[bool]string{true: "ends connections of clients without a certificate", false: "takes clients without a certificate"}[h.Client == security.On])
	w.Demo = w.Demo && h.TLS == security.On
}

// secretOf returns the Secret with credentials that the agents of a StatefulSet have: the one that is
// named, or the default one where it is known to be there; empty means none.
func (f *Facts) secretOf(set *appsv1.StatefulSet, w Want) string {
	if name := w.Connection.CredentialsSecret; name != "" {
		return name
	}
	name := v1alpha1.CredentialsSecretName(ClusterName(set))
	if meta, _ := f.secret(set.Namespace, name); meta != nil && ClusterName(set) != "" {
		return name
	}
	return ""
}

// work reports whether agents of the StatefulSet's database reach their servers: then whatever its
// objects say, it is told what it needs.
func (f *Facts) work(set *appsv1.StatefulSet) bool {
	c := f.clusterOf(set)
	if f.Live == nil || c == nil {
		return false
	}
	s := f.Live.Snapshots[c.Namespace+"/"+c.Name]
	return s != nil && slices.ContainsFunc(s.Pods, func(p model.Pod) bool {
		return p.Pool == set.Name && p.Report != nil && p.Report.Self && p.Report.Member == model.MembershipLive
	})
}

// ExpectedName is the name that agents expect in a server's certificate.
func ExpectedName(c model.Connection) string {
	return cmp.Or(c.TLS.ServerName, c.Host, "localhost")
}

// Lacking is what the agents of a StatefulSet need, and do not have: it is not named, or there is no
// Secret of that name.
type Lacking struct{ CA, Credentials, Client bool }

// Lacking returns what the agents of a StatefulSet lack to be let in.
func (f *Facts) Lacking(set *appsv1.StatefulSet) (l Lacking) {
	w, known := f.WantOf(set)
	if !known || f.work(set) {
		return l
	}
	away := func(name string) bool {
		meta, read := f.secret(set.Namespace, name)
		return name != "" && read && meta == nil
	}
	is := w.Connection.TLS
	denied := f.Said.TLS != nil && !*f.Said.TLS
	if w.TLS.State == security.On && !denied {
		l.CA = is.CASecret == "" && !is.InsecureSkipVerify || away(is.CASecret)
		l.Client = w.Client.State == security.On && w.Connection.TLS.ClientSecret == "" || away(w.Connection.TLS.ClientSecret)
	}
	if !IsSQL(w.Engine) {
		l.Credentials = w.Login.State == security.On && f.secretOf(set, w) == "" || away(w.Connection.CredentialsSecret)
	}
	return l
}

// HasCA reports whether a Secret is known to have the certificate of an authority.
func (f *Facts) HasCA(set *appsv1.StatefulSet, secret string) bool {
	held, _ := f.certificatesIn(set, secret)
	return len(held[config.KeyCA]) > 0
}
