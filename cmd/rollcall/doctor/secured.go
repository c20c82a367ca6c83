package doctor

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/security"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

const securedPage = "deploy/docs/install.md#a-database-with-tls-or-a-login"

// secured compares what servers want of the agents with what the agents are told: TLS, a login, and a
// certificate of their own.
func secured(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) (out []Finding) {
		w, known := f.WantOf(set)
		if !known || f.work(set) {
			return nil
		}
		out = append(out, f.tls(set, w)...)
		if !IsSQL(w.Engine) { // of which the check of the credentials tells
			out = append(out, f.login(set, w)...)
			out = append(out, f.refusedLogin(set, w)...)
		}
		return append(out, f.clientCertificate(w)...)
	})
}

// needs is the severity of what agents need and are not told: an error once somebody has described how
// they connect.
func needs(w Want) Severity {
	if w.Told {
		return Error
	}
	return Warning
}

func (f *Facts) tls(set *appsv1.StatefulSet, w Want) []Finding {
	is, said := w.Connection.TLS, f.Said.TLS
	enabled := is.Enabled || w.Connection.Scheme == "https"
	switch {
	case w.TLS.State == security.Untold && !enabled && said == nil:
		what := "TLS"
		if sameUntold(w) && !IsSQL(w.Engine) {
			what = "TLS and a login"
		}
		return one(f.untold(set), "it cannot be told whether its servers want "+what+": "+w.TLS.Why,
			"say it: rollcall enroll --tls --ca-secret NAME, or --tls=false, and --credentials-secret NAME where they want a login ("+securedPage+")")
	case w.TLS.State == security.Off && enabled:
		return one(Warning, "spec.connection.tls is enabled, and its servers want none: "+w.TLS.Why, "take it out of the DatabaseCluster, or leave out --tls, unless what tells it is wrong")
	case w.TLS.State == security.On && !enabled && said != nil && !*said:
		return one(Warning, "--tls is false, and its servers seem to want TLS: "+w.TLS.Why, "--tls --ca-secret NAME, unless what tells it is wrong")
	case w.TLS.State == security.On && !enabled:
		return one(needs(w), "its servers want TLS ("+w.TLS.Why+"), and agents are not told so", authorityFix(w))
	case w.TLS.State == security.On && is.CASecret == "" && !is.InsecureSkipVerify:
		return one(needs(w), "no Secret with the certificate of the authority of its servers is named: agents know no authorities of their own", authorityFix(w))
	case is.InsecureSkipVerify:
		return one(Warning, "spec.connection.tls.insecureSkipVerify: agents show their password to whoever answers in the pod", authorityFix(w))
	}
	return nil
}

// untold is the severity of what cannot be told: while a database is being enrolled, its pods have not
// restarted yet.
func (f *Facts) untold(set *appsv1.StatefulSet) Severity {
	if c := f.clusterOf(set); f.Live != nil && c != nil && c.UID == "" {
		return Warning
	}
	return Info
}

func sameUntold(w Want) bool {
	return w.TLS.State == security.Untold && w.Login == w.TLS
}

// authorityFix says how agents are told to speak TLS, and where the authority's certificate may be.
func authorityFix(w Want) string {
	where := ""
	switch {
	case w.Demo:
		where = ". Those of the image's demo configuration are in its config/root-ca.pem; everybody has their keys, so make your own before this serves anybody"
	case len(w.Secrets) > 0:
		where = ". Its pods mount Secret " + strings.Join(w.Secrets, ", ") + ", which may have it"
	}
	return "rollcall enroll --tls --ca-secret NAME, or spec.connection.tls {enabled: true, caSecret: NAME}: a Secret with the certificate of their authority under ca.crt; and --server-name (serverName) where their own does not name " + ExpectedName(w.Connection) + where + " (" + securedPage + ")"
}

func (f *Facts) login(set *appsv1.StatefulSet, w Want) []Finding {
	has := f.secretOf(set, w) != ""
	switch {
	case has:
		return nil
	case w.Login.State == security.On:
		return one(needs(w), "its servers want a login ("+w.Login.Why+"), and no Secret with a username and password of the agents is named",
			"make a user with the role that "+AccountPage(w.Engine)+" has, a Secret with its username and password, and name that: rollcall enroll --credentials-secret NAME, or spec.connection.credentialsSecret ("+securedPage+")")
	case w.Login.State == security.Untold && !sameUntold(w):
		return one(f.untold(set), "it cannot be told whether its servers want a login: "+w.Login.Why, "where they do: rollcall enroll --credentials-secret NAME ("+securedPage+")")
	}
	return nil
}

// refusedLogin says that a pod did not take the agents' username and password.
func (f *Facts) refusedLogin(set *appsv1.StatefulSet, w Want) []Finding {
	if f.Live == nil || f.Live.Heard[set.Name].LoggedIn != security.Off {
		return nil
	}
	return one(Error, fmt.Sprintf("pod %s refuses the username and password of Secret %s (status 401)", f.Live.Heard[set.Name].Pod, id(set.Namespace, f.secretOf(set, w))),
		"make that user in the database with that password, or correct the Secret ("+AccountPage(w.Engine)+")")
}

// AccountPage is where the documents have what the agents' account needs.
func AccountPage(e model.Engine) string {
	switch e {
	case model.OpenSearch:
		return "deploy/docs/opensearch.md#permissions"
	case model.Solr:
		return "deploy/docs/solr.md#account-and-permissions"
	case model.FoundationDB:
		return "deploy/docs/foundationdb.md"
	}
	return "deploy/docs/mysql.md#accounts"
}

func (f *Facts) clientCertificate(w Want) []Finding {
	if w.Client.State != security.On || w.TLS.State != security.On || w.Connection.TLS.ClientSecret != "" {
		return nil
	}
	return one(needs(w), fmt.Sprintf("its servers want a certificate of each client (%s), and no Secret with one of the agents is named", w.Client.Why),
		"rollcall enroll --client-secret NAME, or spec.connection.tls.clientSecret: a Secret of type kubernetes.io/tls with a certificate that they accept ("+securedPage+")")
}
