// Package security says what the objects of Kubernetes tell of the security of a database's servers:
// whether they speak TLS, want a login, and want a certificate of each client. It is pure. What cannot
// be seen, such as the content of a Secret, is named and never assumed.
package security

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// State is what is known of one question.
type State int

// The states.
const (
	// Untold means that it cannot be told.
	Untold State = iota
	Off
	On
)

func (s State) String() string { return [...]string{"untold", "off", "on"}[s] }

// Answer answers one question.
type Answer struct {
	State State
	// Why says in words what tells it. Of Untold it says what was looked at.
	Why string
}

// Posture is the security of the servers of one StatefulSet.
type Posture struct {
	// TLS, Login and Client say whether agents have to speak TLS, to log in, and to show a
	// certificate of their own.
	TLS, Login, Client Answer
	// Demo means that the certificates are those that OpenSearch's image makes for a
	// demonstration, whose keys everybody has.
	Demo bool
	// Ready says whether the readiness probe asks by TLS; Untold where there is none that tells it.
	Ready Answer
	// Secrets are those that the pods mount and that may have certificates, by their names.
	Secrets []string
}

// Of returns the posture of a StatefulSet's servers. It is false for an engine of which nothing is
// known.
func Of(engine model.Engine, set *appsv1.StatefulSet, o database.Objects) (Posture, bool) {
	c := database.Container(&set.Spec.Template)
	if c == nil {
		return Posture{}, false
	}
	v := newView(engine, set, c, o)
	var p Posture
	switch engine {
	case model.OpenSearch:
		p = openSearch(v)
	case model.Solr:
		p = solr(v)
	case model.ZooKeeper:
		p = ensemble(v)
	case model.MySQL, model.MariaDB, model.Galera:
		p = sql(v)
	default:
		return Posture{}, false
	}
	p.Secrets, p.Ready = v.secrets(), v.probes.ready
	return p, true
}

func on(why string) Answer     { return Answer{On, why} }
func off(why string) Answer    { return Answer{Off, why} }
func untold(why string) Answer { return Answer{Untold, why} }

// whether returns On or Off.
func whether(is bool, why string) Answer {
	if is {
		return on(why)
	}
	return off(why)
}
