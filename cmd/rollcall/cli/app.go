// Package cli is what the commands of rollcall share: where to write, how to reach the API
// server and the coordinator, formats of input and output, and names that a shell completes.
package cli

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/reach"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// FieldManager is the name under which the API server records writes.
const FieldManager = "rollcall"

// App is the running program: its streams and global flags.
type App struct {
	genericiooptions.IOStreams
	Kube  *genericclioptions.ConfigFlags
	Reach reach.Options
	// Name is the name of the program: rollcall, or kubectl rollcall.
	Name string
}

// Namespace is the namespace of --namespace, or else of the kubeconfig.
func (a *App) Namespace() (string, error) {
	ns, _, err := a.Kube.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("kubeconfig: %w", err)
	}
	return ns, nil
}

// unnamedServer is the server that client-go assumes when the kubeconfig names none.
const unnamedServer = "http://localhost:8080"

// Config is the client configuration for the API server.
func (a *App) Config() (*rest.Config, error) {
	config, err := a.Kube.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	if config.Host == unnamedServer && *a.Kube.APIServer == "" {
		loader := a.Kube.ToRawKubeConfigLoader()
		if raw, err := loader.RawConfig(); err == nil && len(raw.Clusters) == 0 {
			return nil, fmt.Errorf("kubeconfig: no cluster is named in %s; set KUBECONFIG or --kubeconfig",
				strings.Join(loader.ConfigAccess().GetLoadingPrecedence(), ", "))
		}
	}
	config = rest.CopyConfig(config)
	// A command sends few requests; they should not be throttled.
	config.QPS, config.Burst = 50, 100
	return config, nil
}

// API holds clients of the API server and the namespace that a command works in.
type API struct {
	Namespace string
	Clusters  v1alpha1.Clients
	Core      kubernetes.Interface
}

// API makes the clients.
func (a *App) API() (API, error) {
	ns, err := a.Namespace()
	if err != nil {
		return API{}, err
	}
	config, err := a.Config()
	if err != nil {
		return API{}, err
	}
	clusters, err := v1alpha1.NewForConfig(config)
	if err != nil {
		return API{}, fmt.Errorf("create API client: %w", err)
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return API{}, fmt.Errorf("create API client: %w", err)
	}
	return API{ns, clusters, core}, nil
}

// Cluster reads a DatabaseCluster.
func (k API) Cluster(ctx context.Context, name string) (*v1alpha1.DatabaseCluster, error) {
	object, err := k.Clusters.DatabaseClusters(k.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, AboutObject(err, k.Namespace, name)
	}
	return object, nil
}

// Sets are the StatefulSets of a DatabaseCluster.
func (k API) Sets(ctx context.Context, cluster string) ([]appsv1.StatefulSet, error) {
	list, err := k.Core.AppsV1().StatefulSets(k.Namespace).List(ctx, ofCluster(cluster))
	if err != nil {
		return nil, fmt.Errorf("list StatefulSets of %s: %w", cluster, err)
	}
	return list.Items, nil
}

func ofCluster(name string) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: v1alpha1.LabelCluster + "=" + name}
}
