package suite

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

const (
	controllers = "system:serviceaccount:kube-system:"
	exempted    = "guard-policy"
	whole       = "nothing"
	byNamespace = "not-with-its-namespace"
	somebody    = "somebody"
)

// exemptions are the conditions of the policy, and who or what passes by each.
var exemptions = map[string]struct{ user, pod string }{
	"by-others-than-rollcall":             {"system:serviceaccount:" + testbed.InstallNamespace + ":rollcall-coordinator", ""},
	"not-terminating":                     {somebody, "terminating"},
	"not-ended":                           {somebody, "ended"},
	byNamespace:                           {controllers + "namespace-controller", ""},
	"not-with-its-owner":                  {controllers + "generic-garbage-collector", ""},
	"not-left-over":                       {controllers + "pod-garbage-collector", ""},
	"not-off-a-lost-node":                 {controllers + "node-controller", ""},
	"not-preempted":                       {"system:kube-scheduler", ""},
	"not-by-controllers-without-accounts": {"system:kube-controller-manager", ""},
}

// refused are some who must not pass.
var refused = []string{somebody, "kubernetes-admin", "system:node:node1", controllers + "statefulset-controller", controllers + "replicaset-controller",
	controllers + "horizontal-pod-autoscaler", "system:serviceaccount:default:rollcall-coordinator", "system:serviceaccount:" + testbed.InstallNamespace + ":rollcall-guard"}

// TestGuardPolicy has the real API server evaluate the policy: as it is, and
// once without each of its exemptions, where that is refused, or hangs, which
// passes by it.
func TestGuardPolicy(t *testing.T) {
	b := bed(t)
	ctx := t.Context()
	p := &policyTest{Bed: b}
	p.load(t)
	require.NoError(t, b.Apply(ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+exempted+"}\n"))
	defer func() {
		_, err := b.Kubectl(context.WithoutCancel(ctx), "", "delete", "namespace", exempted, "--wait=false", "--ignore-not-found")
		require.NoError(t, err)
	}()
	// The policy of Rollcall's own accounts lets them delete pods of StatefulSets only, and
	// would answer here in place of the guard's (TestTokensDoNoMore, test/apiserver).
	require.NoError(t, b.Kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(ctx, "rollcall-accounts", metav1.DeleteOptions{}))
	defer func() { require.NoError(t, b.Install(context.WithoutCancel(ctx))) }()
	require.Len(t, p.policy.Spec.MatchConditions, len(exemptions))
	for _, c := range p.policy.Spec.MatchConditions {
		e, known := exemptions[c.Name]
		require.True(t, known, "nobody tests %s", c.Name)
		p.variant(t, c.Name)
		p.pod(t, c.Name, e.pod)
	}
	p.variant(t, whole)
	p.pod(t, "plain", "")
	p.eventually(t, "the policy as it is", func(ctx context.Context) error { return p.wantRefused(ctx, somebody, "plain", variantName(whole)) })
	for _, user := range refused {
		require.NoError(t, p.wantRefused(ctx, user, "plain", variantName(whole)))
	}
	for name, e := range exemptions {
		if e.pod == "" {
			require.NoError(t, p.delete(ctx, e.user, "plain"), name)
		}
		// The policy as it is lets it through, so it is the variant that refuses.
		p.eventually(t, "the policy without "+name, func(ctx context.Context) error { return p.wantRefused(ctx, e.user, name, variantName(name)) })
		if name == byNamespace {
			continue // for the real thing, below
		}
		p.unvariant(t, name)
		p.eventually(t, "the policy with "+name, func(ctx context.Context) error { return p.delete(ctx, e.user, name) })
	}

	// Without its exemption the deletion of a namespace hangs; with it, it ends.
	require.NoError(t, b.Kube.CoreV1().Namespaces().Delete(ctx, exempted, metav1.DeleteOptions{}))
	p.eventually(t, "the namespace to hang", func(ctx context.Context) error {
		ns, err := b.Kube.CoreV1().Namespaces().Get(ctx, exempted, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range ns.Status.Conditions {
			if c.Type == corev1.NamespaceDeletionContentFailure && c.Status == corev1.ConditionTrue && strings.Contains(c.Message, variantName(byNamespace)) {
				return nil
			}
		}
		return fmt.Errorf("conditions: %v", ns.Status.Conditions)
	})
	p.unvariant(t, byNamespace)
	_, err := b.Kubectl(ctx, "", "wait", "namespace", exempted, "--for=delete", "--timeout=120s")
	require.NoError(t, err)
}

type policyTest struct {
	*testbed.Bed
	policy admissionv1.ValidatingAdmissionPolicy
}

// load reads the policy out of the plain manifest.
func (p *policyTest) load(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(p.Path("deploy", "manifests", "rollcall.yaml"))
	require.NoError(t, err)
	for reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if strings.Contains(string(document), "\nkind: ValidatingAdmissionPolicy\nmetadata:\n  name: rollcall-guard\n") {
			require.NoError(t, sigsyaml.UnmarshalStrict(document, &p.policy))
			return
		}
	}
	t.Fatal("there is no policy")
}

func (p *policyTest) eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	require.NoError(t, p.Eventually(t.Context(), what, 30*time.Second, check))
}

func variantName(exemption string) string { return "rollcall-guard-without-" + exemption }

// variant is the policy without one exemption, for one pod; and the whole one for
// all. They have labels of their own: coordinators take theirs off these pods.
func (p *policyTest) variant(t *testing.T, exemption string) {
	t.Helper()
	admission := p.Kube.AdmissionregistrationV1()
	policy, selector := p.policy.DeepCopy(), map[string]string{"exemption": exemption}
	if exemption == whole {
		selector = map[string]string{"test": "guard"}
	}
	policy.ObjectMeta = metav1.ObjectMeta{Name: variantName(exemption)}
	policy.Spec.MatchConditions = slices.DeleteFunc(policy.Spec.MatchConditions, func(c admissionv1.MatchCondition) bool { return c.Name == exemption })
	policy.Spec.Validations[0].Expression = "false" // the pods here have no guard
	_, err := admission.ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = admission.ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			MatchResources: &admissionv1.MatchResources{ObjectSelector: &metav1.LabelSelector{MatchLabels: selector}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { p.unvariant(t, exemption) })
}

// unvariant removes it.
func (p *policyTest) unvariant(t *testing.T, exemption string) {
	t.Helper()
	ctx, admission := context.WithoutCancel(t.Context()), p.Kube.AdmissionregistrationV1()
	for _, err := range []error{
		admission.ValidatingAdmissionPolicyBindings().Delete(ctx, variantName(exemption), metav1.DeleteOptions{}),
		admission.ValidatingAdmissionPolicies().Delete(ctx, variantName(exemption), metav1.DeleteOptions{}),
	} {
		if !apierrors.IsNotFound(err) {
			require.NoError(t, err)
		}
	}
}

// pod makes a pod that runs nowhere, and brings it into a state.
func (p *policyTest) pod(t *testing.T, name, state string) {
	t.Helper()
	ctx, pods := t.Context(), p.Kube.CoreV1().Pods(exempted)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"exemption": name, "test": "guard"}},
		Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "test/never"}}, AutomountServiceAccountToken: new(false),
			Containers: []corev1.Container{{Name: "db", Image: "none"}}},
	}
	if state == "terminating" {
		// On a node that is not there, so that nobody ends it; and labelled when it is deleted already.
		pod.Spec.SchedulingGates, pod.Spec.NodeName, pod.Labels = nil, "nowhere", nil
	}
	p.eventually(t, "pod "+name, func(ctx context.Context) error {
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{}) // the namespace has no ServiceAccount at first
		return err
	})
	switch state {
	case "terminating":
		require.NoError(t, pods.Delete(ctx, name, metav1.DeleteOptions{}))
		_, err := p.Kubectl(ctx, "", "label", "pod", name, "-n", exempted, "exemption="+name, "test=guard")
		require.NoError(t, err)
	case "ended":
		made, err := pods.Get(ctx, name, metav1.GetOptions{})
		require.NoError(t, err)
		made.Status.Phase = corev1.PodFailed
		_, err = pods.UpdateStatus(ctx, made, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
}

// delete tries to delete a pod by force, as somebody who may, and does not do it.
func (p *policyTest) delete(ctx context.Context, user, pod string) error {
	config := rest.CopyConfig(p.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return client.CoreV1().Pods(exempted).Delete(ctx, pod, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}, GracePeriodSeconds: new(int64)})
}

func (p *policyTest) wantRefused(ctx context.Context, user, pod, by string) error {
	err := p.delete(ctx, user, pod)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "'"+by+"'") {
		return fmt.Errorf("%s deletes %s: %v, should be a refusal by %s", user, pod, err, by)
	}
	return nil
}
