package setup

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// readFacts reads what the user may read of the namespace. The StatefulSets are required.
func readFacts(ctx context.Context, k cli.API, install string) (*doctor.Facts, error) {
	core, ns := k.Core, k.Namespace
	sets, err := core.AppsV1().StatefulSets(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list StatefulSets of namespace %s: %w", ns, err)
	}
	live := &doctor.Live{
		Install: install, Snapshots: map[string]*model.Snapshot{}, Refusals: map[string][]*rollcallv1.Refusal{},
		SecretKeys: map[string][]string{}, Heard: map[string]doctor.Heard{}, GossipFrom: map[string]string{},
	}
	f := &doctor.Facts{Sets: sets.Items, Live: live}
	tried := live.Tried
	if v, err := core.Discovery().ServerVersion(); tried("version of Kubernetes", err) {
		live.Version = v.GitVersion
	}
	// This ServiceAccount exists when each controller has its own.
	_, err = core.CoreV1().ServiceAccounts(metav1.NamespaceSystem).Get(ctx, "generic-garbage-collector", metav1.GetOptions{})
	live.ControllersHaveAccounts = err == nil || !apierrors.IsNotFound(err) && !tried("accounts of Kubernetes' controllers", err)
	if list, err := k.Clusters.DatabaseClusters(ns).List(ctx, metav1.ListOptions{}); err == nil {
		f.Clusters = list.Items
	} else if !cli.NoSuchResource(err) {
		tried("DatabaseClusters", err)
	}
	if list, err := core.PolicyV1().PodDisruptionBudgets(ns).List(ctx, metav1.ListOptions{}); tried("PodDisruptionBudgets", err) {
		f.Budgets = list.Items
	}
	if list, err := core.NetworkingV1().NetworkPolicies(ns).List(ctx, metav1.ListOptions{}); tried("NetworkPolicies", err) {
		f.Policies = list.Items
	}
	if list, err := core.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{}); tried("pods", err) {
		live.Pods = list.Items
	}
	if list, err := core.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); tried("nodes", err) {
		live.Nodes = list.Items
	}
	if n, err := core.CoreV1().Namespaces().Get(ctx, live.Install, metav1.GetOptions{}); err == nil {
		live.InstallLabels = labels.Set(n.Labels)
	}
	return f, nil
}

// readConfiguration reads what tells the topology of databases: the Services of the namespace, the
// ConfigMaps that their pod templates name, and the objects of operators that own them.
func readConfiguration(ctx context.Context, k cli.API, f *doctor.Facts) {
	readOwners(ctx, k, f)
	if list, err := k.Core.CoreV1().Services(k.Namespace).List(ctx, metav1.ListOptions{}); f.Live.Tried("Services", err) {
		f.Services = list.Items
	}
	for _, name := range f.NamedConfigMaps() {
		c, err := k.Core.CoreV1().ConfigMaps(k.Namespace).Get(ctx, name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) && f.Live.Tried("ConfigMap "+name, err) {
			f.ConfigMaps = append(f.ConfigMaps, *c)
		}
	}
}

// readOwners reads the operators' objects that own StatefulSets, and that may say that the operator
// leaves pods alone.
func readOwners(ctx context.Context, k cli.API, f *doctor.Facts) {
	owners := f.OwnersOf()
	if len(owners) == 0 {
		return
	}
	for _, o := range owners {
		what := o.Kind + " " + o.Name
		gvk := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		path := fmt.Sprintf("/apis/%s/namespaces/%s/%s/%s", o.APIVersion, k.Namespace, plural.Resource, o.Name)
		text, err := k.Core.Discovery().RESTClient().Get().AbsPath(path).DoRaw(ctx)
		if !f.Live.Tried(what, err) {
			continue
		}
		f.Live.Tried(what, f.ReadOwner(o, text))
	}
}

// readSecrets reads the named Secrets. It keeps their metadata and which keys have a value.
func readSecrets(ctx context.Context, k cli.API, f *doctor.Facts) {
	wanted := f.CredentialsSecrets()
	f.SecretMetas = map[string]*metav1.ObjectMeta{}
	for _, name := range f.NamedSecrets() {
		id := k.Namespace + "/" + name
		secret, err := k.Core.CoreV1().Secrets(k.Namespace).Get(ctx, name, metav1.GetOptions{})
		there := err == nil || !apierrors.IsNotFound(err) && !f.Live.Tried("secrets "+name, err)
		if there && slices.Contains(wanted, name) {
			f.Secrets = append(f.Secrets, id)
		}
		switch {
		case err == nil:
			f.Live.SecretKeys[id] = filledKeys(secret)
			f.KeepCertificates(secret)
			f.SecretMetas[id] = &metav1.ObjectMeta{
				Namespace: k.Namespace, Name: name, UID: secret.UID, ResourceVersion: secret.ResourceVersion, Labels: secret.Labels, Annotations: secret.Annotations,
			}
		case !there:
			f.SecretMetas[id] = nil
		}
	}
}

// readMounted reads the certificates in Secrets that pods mount. They only help to say more, so it is no
// matter if they cannot be read.
func readMounted(ctx context.Context, k cli.API, f *doctor.Facts) {
	for _, name := range f.MountedSecrets() {
		if secret, err := k.Core.CoreV1().Secrets(k.Namespace).Get(ctx, name, metav1.GetOptions{}); err == nil {
			f.KeepCertificates(secret)
		}
	}
}

// filledKeys are the keys of a Secret that have a value.
func filledKeys(secret *corev1.Secret) []string {
	var keys []string
	for key, value := range secret.Data {
		if len(value) > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// readSnapshots asks the coordinator what it knows of the databases that there are.
func readSnapshots(ctx context.Context, a *cli.App, k cli.API, f *doctor.Facts) {
	for _, c := range f.Clusters {
		if c.UID == "" {
			continue // it does not exist yet
		}
		s, err := snapshotOf(ctx, a, c.Name)
		if f.Live.Tried("what the coordinator knows of "+c.Name, err) {
			f.Live.Snapshots[c.Namespace+"/"+c.Name] = s
			if told, err := a.AskCoordinator(ctx, c.Namespace, c.Name); f.Live.Tried("what was refused of "+c.Name, err) {
				f.Live.Refusals[c.Namespace+"/"+c.Name] = told[0].GetRefusals()
			}
		}
		readGossip(ctx, k, f, c)
	}
}

// readGossip reads from which networks the agents of a database accept gossip. The annotation
// is missing when the coordinator is older or has not created the Service yet.
func readGossip(ctx context.Context, k cli.API, f *doctor.Facts, c v1alpha1.DatabaseCluster) {
	name := v1alpha1.DerivedName(c.Name)
	service, err := k.Core.CoreV1().Services(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) && !f.Live.Tried("Service "+name, err) || err != nil {
		return
	}
	if from := service.Annotations[v1alpha1.AnnotationGossipFrom]; from != "" {
		f.Live.GossipFrom[c.Namespace+"/"+c.Name] = from
	}
}

func snapshotOf(ctx context.Context, a *cli.App, name string) (*model.Snapshot, error) {
	resp, err := a.Snapshot(ctx, name)
	if err != nil {
		return nil, err
	}
	s, err := model.Decode([]byte(resp.GetSnapshotJson()))
	if err != nil {
		return nil, fmt.Errorf("its snapshot: %w", err)
	}
	return &s, nil
}
