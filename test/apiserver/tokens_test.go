package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rollcall-dev/rollcall/coordinator/people"
)

// TestTokensDoNoMore tries each request of the table with each token, on a real API
// server with its real authentication, RBAC and admission.
func TestTokensDoNoMore(t *testing.T) {
	s, admin := installed(t)
	for _, namespace := range []string{"prod", "other"} {
		s.Apply(strings.ReplaceAll(database, "NS", namespace))
		withPod(t, admin, namespace)
	}
	s.Apply(bindings)
	s.Apply(`
apiVersion: v1
kind: Pod
metadata: {name: system, namespace: kube-system, labels: {app: system}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: system, uid: "1", controller: true}]}
spec: {containers: [{name: a, image: a}]}
---
apiVersion: v1
kind: Pod
metadata: {name: coordinator, namespace: rollcall-system}
spec:
  securityContext: {runAsNonRoot: true, runAsUser: 1, seccompProfile: {type: RuntimeDefault}}
  containers: [{name: a, image: a, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]
---
apiVersion: v1
kind: Node
metadata: {name: node}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: another}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: rollcall-coordinator, namespace: rollcall-system}
`)
	for _, name := range []string{"rollcall-ca", "rollcall-webhook-ca", "rollcall-reader", "rollcall-trust"} {
		s.Apply(fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s, labels: {app.kubernetes.io/part-of: rollcall}}\ntype: Opaque\n", name, install))
	}
	for name, signer := range map[string]string{"ours": people.RequestSigner, "theirs": "example.com/signer"} {
		_, err := send(t.Context(), s.Admin, http.MethodPost, requests, []byte(asRequest(name, signer)), false)
		require.NoError(t, err)
	}
	configs := map[string]*rest.Config{}
	for letter, h := range holders {
		configs[letter] = s.As(t.Context(), h.namespace, h.account)
	}
	eventually(t, "the tenants' roles and the policy", func(ctx context.Context) error {
		if err := request(ctx, s.Admin, configs["E"], try{method: "GET", path: ours + "prod/databaseclusters"}); err != nil {
			return err
		}
		if err := request(ctx, s.Admin, configs["C"], try{method: "DELETE", path: core + "kube-system/pods/system"}); !refused(err) {
			return fmt.Errorf("the policy is not heeded yet: %v", err)
		}
		return nil
	})
	for _, try := range table {
		for letter, h := range holders {
			err := request(t.Context(), s.Admin, configs[letter], try)
			what := fmt.Sprintf("%s of %s: %s %s %s", h.account, h.namespace, try.method, try.path, try.body)
			switch may := strings.Contains(try.may, letter); {
			case may && err != nil:
				t.Errorf("is refused %s: %v", what, err)
			case !may && !refused(err):
				t.Errorf("may %s: %v", what, err)
			}
		}
	}
	// Nobody is somebody else.
	for letter, config := range configs {
		for _, user := range []string{"admin", "system:serviceaccount:" + install + ":rollcall-coordinator", "system:kube-controller-manager"} {
			other := rest.CopyConfig(config)
			other.Impersonate = rest.ImpersonationConfig{UserName: user}
			require.True(t, refused(request(t.Context(), s.Admin, other, try{method: "GET", path: "/api/v1/nodes"})), "%s as %s", letter, user)
		}
	}
	typesAreRight(t, admin)
	whoOwnsTheGroupForgesNoStatus(t, s)
	manyLabelsTakeLittleTime(t, s, configs["C"], configs["H"])
	wideBindingKeepsNoOthers(t, s, configs["C"], configs["E"])
}

// manyLabelsTakeLittleTime: a tenant gives a pod as many labels as it has room for. To compare them one by one kept the
// API server, and whoever writes guards for all, busy for longer than a request may take.
func manyLabelsTakeLittleTime(t *testing.T, s *Server, coordinator, hook *rest.Config) {
	t.Helper()
	many := map[string]string{"rollcall.dev/guard": "closed"}
	for i := range 60_000 {
		many[fmt.Sprintf("%x", i)] = ""
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": many}})
	require.NoError(t, err)
	path := core + "prod/pods/stray-0"
	_, err = send(t.Context(), s.Admin, http.MethodPatch, path, body, false)
	require.NoError(t, err)
	took := func(config *rest.Config, body string) (time.Duration, error) {
		began := time.Now()
		err := request(t.Context(), s.Admin, config, try{method: "PATCH", path: path, body: body})
		return time.Since(began), err
	}
	usual, err := took(s.Admin, closed)
	require.NoError(t, err)
	for _, body := range []string{closed, `{"metadata":{"labels":{"rollcall.dev/guard":null,"app":"other"}}}`} {
		compared, err := took(coordinator, body)
		require.True(t, refused(err), "%v", err)
		require.Less(t, compared, 3*usual+time.Second)
	}
	compared, err := took(hook, `{"metadata":{"labels":{"rollcall.dev/guard":null}}}`)
	require.NoError(t, err, "it does not keep Rollcall from being uninstalled")
	require.Less(t, compared, 3*usual+time.Second)
}

// whoOwnsTheGroupForgesNoStatus: a tenant with all rights on DatabaseClusters in a namespace writes of a status
// no more than one with edit does. Who may write that of all, may.
func whoOwnsTheGroupForgesNoStatus(t *testing.T, s *Server) {
	t.Helper()
	s.Apply(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: owner, namespace: prod}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: owner, namespace: prod}
rules: [{apiGroups: [rollcall.dev], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: owner, namespace: prod}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: owner}
subjects: [{kind: ServiceAccount, name: owner, namespace: prod}]
`)
	owner, path := s.As(t.Context(), "prod", "owner"), ours+"prod/databaseclusters/db/status"
	eventually(t, "the owner's role", func(ctx context.Context) error {
		return request(ctx, s.Admin, owner, try{method: "PATCH", path: path, body: `{"status":{"approvals":[{"what":"canary"}]}}`})
	})
	forged := try{method: "PATCH", path: path, body: `{"status":{"claims":[` + forgedClaim + `]}}`}
	err := request(t.Context(), s.Admin, owner, forged)
	require.True(t, refused(err), "%v", err)
	require.ErrorContains(t, err, "people write the approvals only")
	require.NoError(t, request(t.Context(), s.Admin, s.Admin, forged))
}

// wideBindingKeepsNoOthers: who has widened the guard's binding to all pods has the
// guarded ones kept, and no others.
func wideBindingKeepsNoOthers(t *testing.T, s *Server, coordinator, tenant *rest.Config) {
	t.Helper()
	client, err := kubernetes.NewForConfig(coordinator)
	require.NoError(t, err)
	_, err = client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Patch(t.Context(), "rollcall-guard", types.MergePatchType,
		[]byte(everyPod), metav1.PatchOptions{})
	require.NoError(t, err)
	eventually(t, "the wide binding", func(ctx context.Context) error {
		if err := request(ctx, s.Admin, tenant, try{method: "DELETE", path: core + "prod/pods/stray-0"}); !refused(err) {
			return fmt.Errorf("it is not heeded yet: %v", err)
		}
		return nil
	})
	require.NoError(t, request(t.Context(), s.Admin, tenant, try{method: "DELETE", path: core + "prod/pods/web"}))
}

// withPod makes the pod that the controller of the StatefulSet would make.
func withPod(t *testing.T, admin *kubernetes.Clientset, namespace string) (*appsv1.StatefulSet, *corev1.Pod) {
	t.Helper()
	set, err := admin.AppsV1().StatefulSets(namespace).Get(t.Context(), "db", metav1.GetOptions{})
	require.NoError(t, err)
	pod, err := admin.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "db-0", Labels: map[string]string{"app": "db", appsv1.StatefulSetRevisionLabel: "db-1"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}},
		Spec: set.Spec.Template.Spec,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return set, pod
}

// asRequest is a CertificateSigningRequest, as JSON.
func asRequest(name, signer string) string {
	request, err := people.NewRequest()
	if err != nil {
		panic(err)
	}
	object, err := request.Object()
	if err != nil {
		panic(err)
	}
	object.Name, object.Spec.SignerName = name, signer
	object.APIVersion, object.Kind = "certificates.k8s.io/v1", "CertificateSigningRequest"
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// request makes it without any effect.
func request(ctx context.Context, admin, config *rest.Config, try try) error {
	body := []byte(try.body)
	if try.method == http.MethodPut {
		present, err := send(ctx, admin, http.MethodGet, try.path, nil, true)
		if err != nil {
			return fmt.Errorf("as admin: %w", err)
		}
		if body, err = jsonpatch.MergePatch(present, body); err != nil {
			return err
		}
	}
	_, err := send(ctx, config, try.method, try.path, body, true)
	return err
}

// answer is what the server says that is not a success.
type answer struct {
	code int
	text string
}

func (a *answer) Error() string { return fmt.Sprintf("%d %s", a.code, a.text) }

func refused(err error) bool {
	a, ok := errors.AsType[*answer](err)
	return ok && a.code == http.StatusForbidden
}

func send(ctx context.Context, config *rest.Config, method, path string, body []byte, dry bool) ([]byte, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	connects := strings.Contains(path, "/exec?") || strings.HasSuffix(path, "/portforward")
	address := config.Host + path
	if dry && method != http.MethodGet && !connects && !strings.Contains(path, "reviews") {
		address += "?dryRun=All"
	}
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	// There is no kubelet, so what is let through to one fails there.
	if response.StatusCode < 300 || connects && response.StatusCode != http.StatusForbidden {
		return text, nil
	}
	var status metav1.Status
	if json.Unmarshal(text, &status) == nil && status.Message != "" {
		text = []byte(status.Message)
	}
	return nil, &answer{response.StatusCode, string(text)}
}

// typesAreRight: the API server finds nothing wrong with the expressions.
func typesAreRight(t *testing.T, admin *kubernetes.Clientset) {
	t.Helper()
	for _, name := range []string{"rollcall-accounts", "rollcall-guard", "rollcall-status"} {
		eventually(t, "the types of "+name, func(ctx context.Context) error {
			policy, err := admin.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(ctx, name, metav1.GetOptions{})
			if err == nil && policy.Status.TypeChecking == nil {
				return errors.New("they are not checked yet")
			}
			if err == nil && len(policy.Status.TypeChecking.ExpressionWarnings) > 0 {
				t.Fatalf("%s: %v", name, policy.Status.TypeChecking.ExpressionWarnings)
			}
			return err
		})
	}
}
