package consent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

func secret(label, hosts string) *metav1.ObjectMeta {
	meta := &metav1.ObjectMeta{Namespace: "prod", Name: "accounts", Labels: map[string]string{}, Annotations: map[string]string{}}
	if label != "" {
		meta.Labels[v1alpha1.LabelCluster] = label
	}
	if hosts != "" {
		meta.Annotations[v1alpha1.AnnotationAllowHosts] = hosts
	}
	return meta
}

func TestGiven(t *testing.T) {
	for label, want := range map[string]bool{
		"": false, "mysql": true, "mysql.logs": true, "logs.mysql": true, "a.mysql.b": true,
		"mysql2": false, "my": false, "true": false, "logs": false, ".": false,
	} {
		require.Equal(t, want, Given(secret(label, ""), "mysql"), label)
	}
	require.False(t, Given(secret("", ""), ""))
	require.False(t, Given(secret("a.b", ""), "a.b"), "two names are not one with a dot")

	ours := secret("mysql", "")
	ours.Labels[pki.LabelPartOf] = pki.PartOf
	require.False(t, Given(ours, "mysql"), "keys of agents are no credentials of a database")
	require.Contains(t, NotGiven(ours, "mysql").Error(), "Rollcall's own")
}

func TestHosts(t *testing.T) {
	require.Empty(t, Hosts(secret("mysql", "")))
	require.Equal(t, []string{"db.example", "10.0.0.1", "fd00::1"}, Hosts(secret("mysql", "db.example, 10.0.0.1,fd00::1,\n")))
	require.Equal(t, []string{"db.example:3307", "[fd00::1]:9200"}, Hosts(secret("mysql", "db.example:3307, [fd00::1]:9200 [x]:1 [fd00::1]x")))
	require.Equal(t, []string{"b"}, Hosts(secret("mysql", "a/b *.x $(id) b "+strings.Repeat("x", 300))), "no patterns, and nothing for a shell")
	require.Len(t, Hosts(secret("mysql", strings.Repeat("a,", 1000))), maxHosts)
}

// A person pastes the command that mends it; whoever may edit a DatabaseCluster wrote part of it.
func TestRefusalsHaveCommands(t *testing.T) {
	require.Contains(t, NotGiven(secret("", ""), "mysql").Error(), "kubectl -n prod label secret accounts rollcall.dev/cluster=mysql")
	require.Contains(t, NotGiven(secret("logs", ""), "mysql").Error(), "kubectl -n prod label secret accounts rollcall.dev/cluster=logs.mysql --overwrite")
	require.Contains(t, NotGiven(secret(strings.Repeat("x", 60), ""), "mysql").Error(), "make a Secret of its own")
	require.Contains(t, HostNotAllowed("host", "db", secret("mysql", "")).Error(), "kubectl -n prod annotate secret accounts rollcall.dev/allow-hosts=db")
	require.Contains(t, HostNotAllowed("host", "db", secret("mysql", "a, b")).Error(), "rollcall.dev/allow-hosts=a,b,db --overwrite")
	require.Contains(t, HostNotAllowed("host", "[fd00::1]:9200", secret("mysql", "a")).Error(), "rollcall.dev/allow-hosts='a,[fd00::1]:9200' --overwrite")
	require.Equal(t, "there is no Secret prod/a: make it with the label rollcall.dev/cluster=mysql", Missing("prod", "a", "mysql").Error())
	require.Equal(t, `"a;id" can be the name of no Secret`, Missing("prod", "a;id", "mysql").Error())
	for _, host := range []string{"x;id", "$(id)", "a b", "`id`", "a\nb", "'"} {
		require.NotContains(t, HostNotAllowed("host", host, secret("mysql", "")).Error(), "kubectl")
		require.NotContains(t, HostWithoutSecret("host", host, secret("", ""), "mysql").Error(), "make it")
	}
}

func TestSplit(t *testing.T) {
	one, two := Refusal("one"), Refusal("two")
	for _, c := range []struct {
		err     error
		refused string
		failed  bool
	}{
		{nil, "", false},
		{one, "one", false},
		{fmt.Errorf("secret: %w", errors.Join(one, errors.Join(two, one))), "one; two", false},
		{errors.Join(one, errors.New("broken")), "one", true},
		{fmt.Errorf("secret: %w", errors.New("broken")), "", true},
	} {
		refused, failed := Split(c.err)
		require.Equal(t, c.refused, refused)
		require.Equal(t, c.failed, failed)
	}
}

// client has one Secret, which was applied with kubectl.
func client(t *testing.T) *fake.FakeMetadataClient {
	scheme := fake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	return fake.NewSimpleMetadataClient(scheme, &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "accounts", Labels: map[string]string{v1alpha1.LabelCluster: "mysql"},
			Annotations: map[string]string{v1alpha1.AnnotationAllowHosts: "db", "kubectl.kubernetes.io/last-applied-configuration": "hunter2"}},
	})
}

func TestLook(t *testing.T) {
	c := client(t)
	meta, err := Look(t.Context(), c, "prod", "accounts")
	require.NoError(t, err)
	require.Equal(t, &metav1.ObjectMeta{Namespace: "prod", Name: "accounts", Labels: map[string]string{v1alpha1.LabelCluster: "mysql"},
		Annotations: map[string]string{v1alpha1.AnnotationAllowHosts: "db"}}, meta, "what kubectl notes of the content goes no further")
	for _, name := range []string{"other", "a/b", "../pods/x", ""} {
		meta, err = Look(t.Context(), c, "prod", name)
		require.NoError(t, err)
		require.Nil(t, meta, name)
	}
	c.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("busy") })
	_, err = Look(t.Context(), c, "prod", "accounts")
	require.EqualError(t, err, "busy")
}

// Pods that strangers make up cost the API server one question at a time, and not many a
// second; nobody waits for longer than a second for the answers to others.
func TestAskerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAsker(client(t))
		a.asking <- struct{}{} // somebody's answer takes long
		began := time.Now()
		_, err := a.Secret(t.Context(), "prod", "accounts")
		require.ErrorIs(t, err, errBusy)
		require.Equal(t, turn, time.Since(began))
		<-a.asking

		meta, err := a.Secret(t.Context(), "prod", "accounts")
		require.NoError(t, err)
		require.True(t, Given(meta, "mysql"))

		refused := 0
		for range 2 * atOnce {
			if _, err := a.Secret(context.Background(), "prod", "accounts"); errors.Is(err, errBusy) {
				refused++
			}
		}
		require.GreaterOrEqual(t, refused, atOnce)
	})
}
