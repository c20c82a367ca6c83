package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// completionTimeout bounds how long a shell waits for names: a person has pressed a key.
var completionTimeout = 3 * time.Second

// names are what a shell offers; when they cannot be read, it offers nothing.
type names = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// completeNames offers the names of DatabaseClusters to a shell.
func (a *app) completeNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ns, err := a.namespace()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	list, err := a.readObjects(ctx, ns, "")
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, c := range list {
		names = append(names, c.GetName())
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeClusterFlag offers them as the value of a flag.
func (a *app) completeClusterFlag(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	return a.completeNames(cmd, nil, begun)
}

// completePods offers the pods that belong to DatabaseClusters.
func (a *app) completePods(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completePodFlag(cmd, args, begun)
}

// completePodFlag offers pods after other arguments: with a DatabaseCluster's name, its own.
func (a *app) completePodFlag(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	label := v1alpha1.LabelCluster
	if len(args) > 0 {
		label += "=" + args[0]
	}
	return a.offer(func(ctx context.Context, core kubernetes.Interface, ns string) (found []string, err error) {
		list, err := core.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: label})
		if err != nil {
			return nil, fmt.Errorf("pods: %w", err)
		}
		for _, p := range list.Items {
			found = append(found, p.Name)
		}
		return found, nil
	})(cmd, args, begun)
}

// completeNodes offers nodes.
func (a *app) completeNodes(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.offer(func(ctx context.Context, core kubernetes.Interface, _ string) (found []string, err error) {
		list, err := core.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("nodes: %w", err)
		}
		for _, n := range list.Items {
			found = append(found, n.Name)
		}
		return found, nil
	})(cmd, args, begun)
}

// completeSets offers the StatefulSets that are not named yet.
func (a *app) completeSets(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return a.offer(func(ctx context.Context, core kubernetes.Interface, ns string) (found []string, err error) {
		list, err := core.AppsV1().StatefulSets(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("StatefulSets: %w", err)
		}
		for _, s := range list.Items {
			if !slices.Contains(args, s.Name) {
				found = append(found, s.Name)
			}
		}
		return found, nil
	})(cmd, args, begun)
}

// completeNamespaces offers namespaces.
func (a *app) completeNamespaces(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return a.offer(func(ctx context.Context, core kubernetes.Interface, _ string) (found []string, err error) {
		list, err := core.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("namespaces: %w", err)
		}
		for _, n := range list.Items {
			found = append(found, n.Name)
		}
		return found, nil
	})(cmd, args, begun)
}

// offer has the API server list names, of which a shell gets those that begin as typed.
func (a *app) offer(list func(context.Context, kubernetes.Interface, string) ([]string, error)) names {
	return func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		ns, err := a.namespace()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		_, core, err := a.clients()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		all, err := list(ctx, core, ns)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var found []string
		for _, name := range all {
			if strings.HasPrefix(name, begun) {
				found = append(found, name)
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}
