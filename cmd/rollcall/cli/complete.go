package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// CompletionTimeout bounds how long a shell waits for names. Tests set it higher.
var CompletionTimeout = 3 * time.Second

// CompleteNames offers DatabaseClusters.
func (a *App) CompleteNames(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.CompleteClusterFlag(cmd, args, begun)
}

// CompleteClusterFlag offers DatabaseClusters as the value of a flag.
func (a *App) CompleteClusterFlag(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	return a.offer(cmd, begun, func(ctx context.Context, k API) (runtime.Object, error) {
		return k.Clusters.DatabaseClusters(k.Namespace).List(ctx, metav1.ListOptions{})
	})
}

// CompletePods offers the pods that belong to DatabaseClusters.
func (a *App) CompletePods(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.CompletePodFlag(cmd, args, begun)
}

// CompletePodFlag offers pods as the value of a flag: those of the DatabaseCluster in args, if any.
func (a *App) CompletePodFlag(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	of := metav1.ListOptions{LabelSelector: v1alpha1.LabelCluster}
	if len(args) > 0 {
		of = ofCluster(args[0])
	}
	return a.offer(cmd, begun, func(ctx context.Context, k API) (runtime.Object, error) {
		return k.Core.CoreV1().Pods(k.Namespace).List(ctx, of)
	})
}

// CompleteNodes offers nodes.
func (a *App) CompleteNodes(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.offer(cmd, begun, func(ctx context.Context, k API) (runtime.Object, error) {
		return k.Core.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	})
}

// CompleteSets offers the StatefulSets that are not named yet.
func (a *App) CompleteSets(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	found, directive := a.offer(cmd, begun, func(ctx context.Context, k API) (runtime.Object, error) {
		return k.Core.AppsV1().StatefulSets(k.Namespace).List(ctx, metav1.ListOptions{})
	})
	return slices.DeleteFunc(found, func(name string) bool { return slices.Contains(args, name) }), directive
}

// CompleteNamespaces offers namespaces.
func (a *App) CompleteNamespaces(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	return a.offer(cmd, begun, func(ctx context.Context, k API) (runtime.Object, error) {
		return k.Core.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	})
}

// offer lists objects and returns the names that start with begun. It offers nothing when
// the list fails.
func (a *App) offer(cmd *cobra.Command, begun string, list func(context.Context, API) (runtime.Object, error)) ([]string, cobra.ShellCompDirective) {
	k, err := a.API()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), CompletionTimeout)
	defer cancel()
	objects, err := list(ctx, k)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var found []string
	_ = meta.EachListItem(objects, func(o runtime.Object) error {
		if m, err := meta.Accessor(o); err == nil && strings.HasPrefix(m.GetName(), begun) {
			found = append(found, m.GetName())
		}
		return nil
	})
	return found, cobra.ShellCompDirectiveNoFileComp
}
