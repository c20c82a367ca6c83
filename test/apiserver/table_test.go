package apiserver

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/people"
)

// holders are the holders of tokens, by the letter that stands for each in the table.
var holders = map[string]struct{ namespace, account string }{
	"C": {install, "rollcall-coordinator"},
	"G": {install, "rollcall-guard"},        // the guard's expiry
	"H": {install, "rollcall-guard-remove"}, // the hook of helm uninstall
	"N": {"prod", "default"},                // an agent, were a token mounted
	"A": {"prod", "asker"},
	"R": {"prod", "reader"},
	"E": {"prod", "editor"}, // a tenant with edit in prod
	"V": {"prod", "viewer"}, // a tenant with view in prod
}

// try is one request, and who may make it: everybody else must be refused. The body of
// a PUT is a merge patch of what is there.
type try struct{ may, method, path, body string }

const (
	core     = "/api/v1/namespaces/"
	apps     = "/apis/apps/v1/namespaces/"
	budgets  = "/apis/policy/v1/namespaces/"
	ours     = "/apis/rollcall.dev/v1alpha1/namespaces/"
	leases   = "/apis/coordination.k8s.io/v1/namespaces/"
	roles    = "/apis/rbac.authorization.k8s.io/v1/"
	requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	admits   = "/apis/admissionregistration.k8s.io/v1/"
	marked   = `"labels":{"app.kubernetes.io/part-of":"rollcall","rollcall.dev/cluster":"new"}`
	closed   = `{"metadata":{"labels":{"rollcall.dev/guard":"closed","rollcall.dev/guard-cluster":"db"}}}`
	claimed  = `{"metadata":{"labels":{"rollcall.dev/guard":"open","rollcall.dev/guard-cluster":"db"},` +
		`"annotations":{"rollcall.dev/claim":"c1","rollcall.dev/epoch":"3"}}}`
	partition = `{"metadata":{"annotations":{"rollcall.dev/partition":"3","rollcall.dev/epoch":"3"}},"spec":{"updateStrategy":{"rollingUpdate":{"partition":3}}}}`
	finalizer = `{"metadata":{"finalizers":["rollcall.dev/claims"]}}`
	// forgedClaim has another database's volume called empty.
	forgedClaim = `{"id":"rc1","pod":"db-9","uid":"u","action":"Replace","prepare":"None","phase":"Emptied",` +
		`"startedAt":"2026-01-01T00:00:00Z","emptiedAt":"2026-01-01T00:00:00Z","volumes":[{"name":"payroll","uid":"v"}]}`
	// event is one about whatever it says.
	event = `{"metadata":{"name":"new"},"regarding":{"kind":"Pod","namespace":"prod","name":"db"},"reason":"r","note":"n","type":"Normal","action":"a",` +
		`"reportingController":"rollcall.dev/coordinator","reportingInstance":"i","eventTime":"2026-01-01T00:00:00.000000Z"}`
	everyPod = `{"spec":{"matchResources":null}}`
	anyone   = `{"kind":"ServiceAccount","name":"default","namespace":"prod"}`
)

// webhook is the chart's with this authority, resource and Service.
func webhook(authority, resource, service string) string {
	return fmt.Sprintf(`{"name":"pods.rollcall.dev","clientConfig":{"caBundle":%q,"service":{"name":%q,"namespace":"rollcall-system","path":"/inject","port":443}},
"rules":[{"apiGroups":[""],"apiVersions":["v1"],"resources":[%q],"operations":["CREATE"],"scope":"Namespaced"}],
"objectSelector":{"matchExpressions":[{"key":"rollcall.dev/cluster","operator":"Exists"}]},"namespaceSelector":{},"failurePolicy":"Ignore",
"reinvocationPolicy":"IfNeeded","matchPolicy":"Equivalent","sideEffects":"None","admissionReviewVersions":["v1"],"timeoutSeconds":5}`, authority, service, resource)
}

// owner is a reference to one.
func owner(version, kind string) string {
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"name":"db","uid":"u"}`, version, kind)
}

// asking is a request of a person.
var asking = asRequest("new", people.RequestSigner)

var table = []try{
	// Pods.
	{"C H E", "PATCH", core + "prod/pods/db-0", closed},
	{"C H E", "PATCH", core + "prod/pods/db-0", claimed},
	{"C H E", "PATCH", core + "prod/pods/db-0", `{"metadata":{"labels":{"rollcall.dev/role":"primary"}}}`},
	{"C H", "PATCH", core + "other/pods/db-0", closed},
	{"C H E", "PATCH", core + "prod/pods/stray-0", `{"metadata":{"labels":{"rollcall.dev/guard":null,"rollcall.dev/guard-cluster":null},"annotations":{"rollcall.dev/claim":null}}}`},
	{"E", "PATCH", core + "prod/pods/web", closed},
	{"", "PATCH", core + "kube-system/pods/system", closed},
	{"", "PATCH", core + "kube-system/pods/system", `{"metadata":{"annotations":{"rollcall.dev/claim":"c1"}}}`},
	{"E", "PATCH", core + "prod/pods/db-0", `{"metadata":{"labels":{"app":"other"}}}`},
	{"E", "PATCH", core + "prod/pods/db-0", `{"metadata":{"labels":{"rollcall.dev/cluster":"other"}}}`},
	{"E", "PATCH", core + "prod/pods/db-0", `{"metadata":{"annotations":{"note":"other"}}}`},
	{"E", "PATCH", core + "prod/pods/db-0", `{"metadata":{"finalizers":["example.com/stay"]}}`},
	{"E", "PATCH", core + "prod/pods/db-0", `{"metadata":{"ownerReferences":null}}`},
	{"E", "PATCH", core + "prod/pods/db-0", `{"spec":{"containers":[{"name":"db","image":"evil"}]}}`},
	{"", "PATCH", core + "other/pods/db-0", `{"spec":{"containers":[{"name":"db","image":"evil"}]}}`},
	{"C E", "DELETE", core + "prod/pods/db-0", ""},
	{"C", "DELETE", core + "other/pods/db-0", ""},
	{"E", "DELETE", core + "prod/pods/web", ""},
	{"", "DELETE", core + "kube-system/pods/system", ""},
	{"C E", "POST", core + "prod/pods/db-0/eviction", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"db-0","namespace":"prod"}}`},
	// An eviction names its pod only, so no policy can tell which one it is.
	{"C", "POST", core + "kube-system/pods/system/eviction", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"system","namespace":"kube-system"}}`},
	{"E", "POST", core + "prod/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"new"},"spec":{"containers":[{"name":"a","image":"a"}]}}`},
	{"", "POST", core + "kube-system/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"new"},"spec":{"containers":[{"name":"a","image":"a"}]}}`},
	{"", "POST", core + install + "/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"new"},"spec":{"containers":[{"name":"a","image":"a"}]}}`},
	{"C H", "GET", "/api/v1/pods", ""},
	{"C H E V", "GET", core + "prod/pods", ""},
	{"C H R", "GET", core + install + "/pods", ""},
	{"E", "POST", core + "prod/pods/db-0/exec?command=sh", ""},
	{"A R", "POST", core + install + "/pods/coordinator/portforward", ""},
	{"C", "GET", "/api/v1/nodes", ""},
	{"", "PATCH", "/api/v1/nodes/node", `{"spec":{"unschedulable":true}}`},

	// StatefulSets.
	{"C E", "PATCH", apps + "prod/statefulsets/db", partition},
	{"C", "PATCH", apps + "other/statefulsets/db", partition},
	{"E", "PATCH", apps + "prod/statefulsets/web", partition},
	{"", "PATCH", apps + "other/statefulsets/web", `{"metadata":{"annotations":{"rollcall.dev/epoch":"3"}}}`},
	{"C E", "PATCH", apps + "prod/statefulsets/left", partition},
	{"C E", "PATCH", apps + "prod/statefulsets/db", `{"metadata":{"annotations":{"rollcall.dev/epoch":"3"}}}`},
	{"E", "PATCH", apps + "prod/statefulsets/db", `{"spec":{"replicas":0}}`},
	{"E", "PATCH", apps + "prod/statefulsets/db", `{"spec":{"template":{"spec":{"containers":[{"name":"db","image":"evil"}]}}}}`},
	{"", "PATCH", apps + "other/statefulsets/db", `{"spec":{"template":{"spec":{"containers":[{"name":"db","image":"evil"}]}}}}`},
	{"E", "PATCH", apps + "prod/statefulsets/db", `{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}`},
	{"E", "PATCH", apps + "prod/statefulsets/db", `{"spec":{"minReadySeconds":5}}`},
	{"E", "PATCH", apps + "prod/statefulsets/db", `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete"}}}`},
	{"E", "PATCH", apps + "prod/statefulsets/db", `{"metadata":{"labels":{"rollcall.dev/cluster":"other"}}}`},
	{"E", "PATCH", apps + "prod/statefulsets/db", `{"metadata":{"annotations":{"rollcall.dev/paused":"true"}}}`},
	{"E", "PATCH", apps + "prod/statefulsets/db", `{"metadata":{"finalizers":["example.com/stay"]}}`},
	{"E", "DELETE", apps + "prod/statefulsets/db", ""},
	{"C H E V", "GET", apps + "prod/statefulsets", ""},

	// Secrets. Who may get one by name is not told by its content.
	{"C E", "GET", core + "prod/secrets/password", ""},
	{"C", "GET", core + "other/secrets/password", ""},
	{"E", "GET", core + "prod/secrets", ""},
	{"", "GET", "/api/v1/secrets", ""},
	{"", "GET", core + install + "/secrets", ""},
	{"C", "GET", core + install + "/secrets/rollcall-ca", ""},
	{"C", "GET", core + install + "/secrets/rollcall-webhook-ca", ""},
	{"C", "GET", core + install + "/secrets?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Drollcall-ca", ""},
	{"C", "GET", core + install + "/secrets?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Drollcall-webhook-ca", ""},
	{"", "GET", core + install + "/secrets?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Drollcall-reader", ""},
	{"", "GET", core + install + "/secrets?watch=1&timeoutSeconds=1", ""},
	{"", "GET", core + install + "/secrets?fieldSelector=metadata.name%3Drollcall-ca", ""},
	{"C R", "GET", core + install + "/secrets/rollcall-reader", ""},
	{"C A", "GET", core + install + "/secrets/rollcall-trust", ""},
	{"C", "PUT", core + install + "/secrets/rollcall-ca", `{"data":{"a":"YQ=="}}`},
	{"C", "PUT", core + install + "/secrets/rollcall-webhook-ca", `{"data":{"a":"YQ=="}}`},
	{"", "PUT", core + install + "/secrets/rollcall-webhook-ca", `{"metadata":{"labels":{"app.kubernetes.io/part-of":null}}}`},
	{"E", "POST", core + "prod/secrets", `{"metadata":{"name":"rollcall-webhook-ca",` + marked + `},"type":"Opaque"}`},
	{"C", "PUT", core + install + "/secrets/rollcall-reader", `{"data":{"a":"YQ=="}}`},
	{"C", "PUT", core + install + "/secrets/rollcall-trust", `{"data":{"a":"YQ=="}}`},
	{"C E", "PUT", core + "prod/secrets/db-rollcall", `{"data":{"a":"YQ=="}}`},
	{"C", "PUT", core + "other/secrets/db-rollcall", `{"data":{"a":"YQ=="}}`},
	{"E", "PUT", core + "prod/secrets/password", `{"data":{"password":"YQ=="}}`},
	{"", "PUT", core + "other/secrets/password", `{"data":{"password":"YQ=="},"metadata":{"labels":{"app.kubernetes.io/part-of":"rollcall"}}}`},
	{"E", "PUT", core + "prod/secrets/foreign-rollcall", `{"metadata":{"labels":{"app.kubernetes.io/part-of":"rollcall","rollcall.dev/cluster":"foreign"}}}`},
	{"E", "PUT", core + "prod/secrets/db-rollcall", `{"metadata":{"labels":{"app.kubernetes.io/part-of":null}}}`},
	{"C E", "POST", core + "prod/secrets", `{"metadata":{"name":"new-rollcall",` + marked + `},"type":"Opaque"}`},
	{"E", "POST", core + "prod/secrets", `{"metadata":{"name":"new-rollcall"},"type":"Opaque"}`},
	{"E", "POST", core + "prod/secrets", `{"metadata":{"name":"new",` + marked + `},"type":"Opaque"}`},
	{"E", "POST", core + "prod/secrets", `{"metadata":{"name":"rollcall-ca",` + marked + `},"type":"Opaque"}`},
	{"", "POST", core + install + "/secrets", `{"metadata":{"name":"other",` + marked + `},"type":"Opaque"}`},
	{"", "POST", core + "kube-system/secrets", `{"metadata":{"name":"new-rollcall",` + marked + `,"annotations":{"kubernetes.io/service-account.name":"generic-garbage-collector"}},"type":"kubernetes.io/service-account-token"}`},
	{"E", "PUT", core + "prod/secrets/db-rollcall", `{"metadata":{"finalizers":["example.com/stay"]}}`},
	{"E", "POST", core + "prod/secrets", `{"metadata":{"name":"new-rollcall",` + marked + `,"finalizers":["example.com/stay"]},"type":"Opaque"}`},
	{"C E", "POST", core + "prod/secrets", `{"metadata":{"name":"new-rollcall",` + marked + `,"ownerReferences":[` + owner("rollcall.dev/v1alpha1", "DatabaseCluster") + `]},"type":"Opaque"}`},
	{"E", "POST", core + "prod/secrets", `{"metadata":{"name":"new-rollcall",` + marked + `,"ownerReferences":[` + owner("apps/v1", "StatefulSet") + `]},"type":"Opaque"}`},
	{"E", "DELETE", core + "prod/secrets/db-rollcall", ""},

	// Services.
	{"C E", "PUT", core + "prod/services/db-rollcall", `{"metadata":{"labels":{"a":"b"}}}`},
	{"E", "PUT", core + "prod/services/db-rollcall", `{"spec":{"selector":{"app":"web"}}}`},
	{"E", "PUT", core + "prod/services/db-rollcall", `{"spec":{"externalIPs":["192.0.2.1"]}}`},
	{"E", "PUT", core + "prod/services/db-rollcall", `{"metadata":{"finalizers":["example.com/stay"]}}`},
	{"E", "PUT", core + "prod/services/web", `{"spec":{"selector":{"app":"db"}}}`},
	{"", "PUT", core + "other/services/web", `{"spec":{"selector":{"app":"db"}}}`},
	{"C E", "POST", core + "prod/services", `{"metadata":{"name":"new-rollcall",` + marked + `},"spec":{"clusterIP":"None","selector":{"rollcall.dev/cluster":"new"},"ports":[{"port":1}]}}`},
	{"E", "POST", core + "prod/services", `{"metadata":{"name":"new-rollcall",` + marked + `},"spec":{"selector":{"rollcall.dev/cluster":"new"},"ports":[{"port":1}]}}`},
	{"", "POST", core + "kube-system/services", `{"metadata":{"name":"new-rollcall",` + marked + `},"spec":{"type":"ExternalName","externalName":"example.com"}}`},

	// Budgets.
	{"C G E", "PUT", budgets + "prod/poddisruptionbudgets/db-rollcall", `{"spec":{"minAvailable":null,"maxUnavailable":1},"metadata":{"annotations":{"rollcall.dev/guard-expired":"now"}}}`},
	{"C G", "PUT", budgets + "other/poddisruptionbudgets/db-rollcall", `{"spec":{"minAvailable":5}}`},
	{"E", "PUT", budgets + "prod/poddisruptionbudgets/db-rollcall", `{"spec":{"selector":{"matchLabels":{"rollcall.dev/guard-cluster":null}}}}`},
	{"E", "PUT", budgets + "prod/poddisruptionbudgets/db-rollcall", `{"metadata":{"finalizers":["example.com/stay"]}}`},
	{"E", "PUT", budgets + "prod/poddisruptionbudgets/web", `{"spec":{"minAvailable":0}}`},
	{"", "PUT", budgets + "other/poddisruptionbudgets/web", `{"spec":{"minAvailable":0}}`},
	{"C H E", "DELETE", budgets + "prod/poddisruptionbudgets/db-rollcall", ""},
	{"E", "DELETE", budgets + "prod/poddisruptionbudgets/web", ""},
	{"", "DELETE", budgets + "other/poddisruptionbudgets/web", ""},
	{"C E", "POST", budgets + "prod/poddisruptionbudgets", `{"metadata":{"name":"new-rollcall",` + marked + `},"spec":{"minAvailable":1,"selector":{"matchLabels":{"rollcall.dev/guard":"closed","rollcall.dev/guard-cluster":"new"}}}}`},
	{"E", "POST", budgets + "prod/poddisruptionbudgets", `{"metadata":{"name":"new-rollcall",` + marked + `},"spec":{"minAvailable":1,"selector":{}}}`},
	{"", "POST", budgets + "kube-system/poddisruptionbudgets", `{"metadata":{"name":"new-rollcall",` + marked + `},"spec":{"minAvailable":1,"selector":{}}}`},

	// Volume claims: which belong to a database is not told by an object.
	{"C E V", "GET", core + "prod/persistentvolumeclaims/data-db-0", ""},
	{"E V", "GET", core + "prod/persistentvolumeclaims", ""},
	{"C E", "DELETE", core + "prod/persistentvolumeclaims/data-db-0", ""},

	// DatabaseClusters.
	{"C G H E", "PATCH", ours + "prod/databaseclusters/db", finalizer},
	{"C G H", "PATCH", ours + "other/databaseclusters/db", finalizer},
	{"E", "PATCH", ours + "prod/databaseclusters/db", `{"metadata":{"finalizers":["example.com/stay"]}}`},
	{"E", "PATCH", ours + "prod/databaseclusters/db", `{"spec":{"connection":{"host":"evil.example.com"}}}`},
	{"", "PATCH", ours + "other/databaseclusters/db", `{"spec":{"connection":{"host":"evil.example.com"}}}`},
	{"E", "PATCH", ours + "prod/databaseclusters/db", `{"metadata":{"annotations":{"rollcall.dev/restart":"2020-01-01T00:00:00Z"}}}`},
	{"C", "PUT", ours + "prod/databaseclusters/db/status", `{"status":{"observedGeneration":1}}`},
	{"E", "PATCH", ours + "prod/databaseclusters/db/status", `{"status":{"approvals":[{"what":"canary","revision":"r","by":"me","at":"2026-01-01T00:00:00Z"}]}}`},
	{"C E", "PUT", ours + "prod/databaseclusters/db/status", `{"status":{"approvals":[{"what":"canary","revision":"r","by":"me","at":"2026-01-01T00:00:00Z"}]}}`},
	{"", "PATCH", ours + "prod/databaseclusters/db/status", `{"status":{"epoch":7}}`},
	{"", "PATCH", ours + "prod/databaseclusters/db/status", `{"status":{"claims":[` + forgedClaim + `]}}`},
	{"", "PATCH", ours + "prod/databaseclusters/db/status", `{"status":{"pendingRestores":[{"claim":"c","pod":"db-0","undo":"e30=","since":"2026-01-01T00:00:00Z"}]}}`},
	{"C", "PUT", ours + "prod/databaseclusters/db/status", `{"status":{"claims":[` + forgedClaim + `]}}`},
	{"E", "POST", ours + "prod/databaseclusters", `{"apiVersion":"rollcall.dev/v1alpha1","kind":"DatabaseCluster","metadata":{"name":"new"},"spec":{"engine":"Solr"}}`},
	{"E", "DELETE", ours + "prod/databaseclusters/db", ""},
	{"C E V", "GET", ours + "prod/databaseclusters/db", ""},
	{"C G H E V", "GET", ours + "prod/databaseclusters", ""},
	{"C G H", "GET", "/apis/rollcall.dev/v1alpha1/databaseclusters", ""},

	// Admission.
	{"C", "PUT", admits + "mutatingwebhookconfigurations/rollcall-coordinator", `{"webhooks":[` + webhook("Q0EK", "pods", "rollcall-coordinator") + `]}`},
	{"", "PUT", admits + "mutatingwebhookconfigurations/rollcall-coordinator", `{"webhooks":[` + webhook("Q0EK", "*", "rollcall-coordinator") + `]}`},
	{"", "PUT", admits + "mutatingwebhookconfigurations/rollcall-coordinator", `{"webhooks":[` + webhook("Q0EK", "pods", "another") + `]}`},
	{"", "PUT", admits + "mutatingwebhookconfigurations/rollcall-coordinator", `{"metadata":{"finalizers":["example.com/stay"]}}`},
	{"", "PUT", admits + "mutatingwebhookconfigurations/rollcall-coordinator", `{"metadata":{"labels":{"a":"b"}}}`},
	{"", "PUT", admits + "mutatingwebhookconfigurations/rollcall-coordinator", `{"metadata":{"annotations":{"a":"b"}}}`},
	{"", "PUT", admits + "mutatingwebhookconfigurations/another", `{"metadata":{"annotations":{"a":"b"}}}`},
	{"", "POST", admits + "mutatingwebhookconfigurations", `{"metadata":{"name":"new"}}`},
	{"", "POST", admits + "validatingwebhookconfigurations", `{"metadata":{"name":"new"}}`},
	{"C G", "PATCH", admits + "validatingadmissionpolicybindings/rollcall-guard", `{"spec":{"validationActions":["Audit"]}}`},
	// No policy is asked about this; what it comes to is tried below.
	{"C G", "PATCH", admits + "validatingadmissionpolicybindings/rollcall-guard", everyPod},
	{"", "PATCH", admits + "validatingadmissionpolicybindings/rollcall-accounts", `{"spec":{"validationActions":["Audit"]}}`},
	{"", "PATCH", admits + "validatingadmissionpolicies/rollcall-accounts", `{"spec":{"failurePolicy":"Ignore"}}`},
	{"", "PATCH", admits + "validatingadmissionpolicies/rollcall-guard", `{"spec":{"failurePolicy":"Ignore"}}`},
	{"H", "DELETE", admits + "validatingadmissionpolicies/rollcall-guard", ""},
	{"H", "DELETE", admits + "validatingadmissionpolicybindings/rollcall-guard", ""},
	{"H", "DELETE", admits + "validatingadmissionpolicybindings/rollcall-guard-audit", ""},
	{"", "DELETE", admits + "validatingadmissionpolicybindings/rollcall-accounts", ""},
	{"", "PATCH", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/databaseclusters.rollcall.dev", `{"metadata":{"annotations":{"a":"b"}}}`},

	// Accounts, roles, tokens.
	{"", "POST", core + "kube-system/serviceaccounts/generic-garbage-collector/token", `{"spec":{"audiences":[]}}`},
	{"", "POST", core + install + "/serviceaccounts/rollcall-coordinator/token", `{"spec":{"audiences":[]}}`},
	{"", "POST", core + install + "/serviceaccounts/rollcall-guard-remove/token", `{"spec":{"audiences":[]}}`},
	{"", "POST", roles + "clusterrolebindings", `{"metadata":{"name":"new"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[` + anyone + `]}`},
	{"", "POST", roles + "namespaces/prod/rolebindings", `{"metadata":{"name":"new"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},"subjects":[` + anyone + `]}`},
	{"", "PATCH", roles + "clusterroles/rollcall-coordinator", `{"rules":[]}`},
	{"", "PATCH", roles + "clusterroles/view", `{"metadata":{"labels":{"a":"b"}}}`},
	{"C", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", `{"spec":{"token":"t"}}`},
	{"C", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", `{"spec":{"user":"u","nonResourceAttributes":{"path":"/","verb":"get"}}}`},

	// Requests by which people show who they are. What role they need for them gives no more.
	{"A", "POST", requests, asking},
	{"C", "GET", requests + "/ours", ""},
	{"C", "GET", requests + "/theirs", ""},
	{"", "GET", requests, ""},
	{"C", "DELETE", requests + "/ours", ""},
	{"", "DELETE", requests + "/theirs", ""},
	{"", "PATCH", requests + "/ours", `{"metadata":{"annotations":{"a":"b"}}}`},
	{"", "PUT", requests + "/ours/approval", `{"status":{"conditions":[{"type":"Approved","status":"True","reason":"r","message":"m"}]}}`},
	{"", "PUT", requests + "/ours/status", `{"status":{"certificate":""}}`},

	// What runs Rollcall.
	{"C G A R", "GET", leases + install + "/leases/rollcall-coordinator", ""},
	{"C", "PUT", leases + install + "/leases/rollcall-coordinator", `{"spec":{"holderIdentity":"me"}}`},
	{"", "POST", leases + install + "/leases", `{"metadata":{"name":"other"}}`},
	{"", "POST", leases + install + "/leases", `{"metadata":{"name":"rollcall-coordinator","finalizers":["example.com/stay"]}}`},
	{"", "POST", leases + "kube-system/leases", `{"metadata":{"name":"rollcall-coordinator"}}`},
	{"H", "PUT", apps + install + "/deployments/rollcall-coordinator/scale", `{"spec":{"replicas":0}}`},
	{"", "PATCH", apps + install + "/deployments/rollcall-coordinator", `{"spec":{"template":{"spec":{"serviceAccountName":"default"}}}}`},
	{"", "POST", "/apis/batch/v1/namespaces/" + install + "/jobs", `{"metadata":{"name":"new"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"a","image":"a"}]}}}}`},
	{"C G E", "POST", "/apis/events.k8s.io/v1/namespaces/prod/events", event},
	{"", "GET", core + "other/configmaps", ""},
	{"E V", "GET", core + "prod/configmaps", ""},
}
