package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InstallNamespace is where the manifests put the coordinator.
const InstallNamespace = "rollcall-system"

// Images are Rollcall's own; databases have one each.
var Images = []string{"agent", "coordinator"}

// LoadImages builds the named images of this checkout and brings them into every node.
func (b *Bed) LoadImages(ctx context.Context, names ...string) error {
	if err := b.tool(ctx, "rollcall-images", append([]string{"build"}, names...)...); err != nil {
		return fmt.Errorf("images: %w", err)
	}
	dir, err := b.run(ctx, "", b.Program("rollcall-images"), "dir")
	if err != nil {
		return err
	}
	var archives []string
	for _, name := range names {
		archives = append(archives, filepath.Join(strings.TrimSpace(dir), name+".tar"))
	}
	return b.Load(ctx, archives...)
}

// LoadFoundationDB makes an image of the FoundationDB of a folder and brings it into every node.
func (b *Bed) LoadFoundationDB(ctx context.Context, folder string) error {
	if err := b.tool(ctx, "rollcall-images", "foundationdb", folder); err != nil {
		return fmt.Errorf("images: %w", err)
	}
	dir, err := b.run(ctx, "", b.Program("rollcall-images"), "dir")
	if err != nil {
		return err
	}
	return b.Load(ctx, filepath.Join(strings.TrimSpace(dir), "foundationdb-real.tar"))
}

// Install applies the plain manifests and waits for the coordinators.
func (b *Bed) Install(ctx context.Context) error {
	manifest, err := os.ReadFile(b.Path("deploy", "manifests", "rollcall.yaml"))
	if err != nil {
		return err
	}
	if _, err := b.Kubectl(ctx, string(manifest), "apply", "--server-side", "--force-conflicts", "-f", "-"); err != nil {
		return err
	}
	return b.Eventually(ctx, "coordinators Ready", 3*time.Minute, func(ctx context.Context) error {
		d, err := b.Kube.AppsV1().Deployments(InstallNamespace).Get(ctx, "rollcall-coordinator", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if d.Status.ReadyReplicas < *d.Spec.Replicas || d.Status.ObservedGeneration < d.Generation {
			return fmt.Errorf("%d of %d coordinators are Ready", d.Status.ReadyReplicas, *d.Spec.Replicas)
		}
		return nil
	})
}

// RemoveInstall removes an earlier installation of any version, whose rights and policies
// would be judged with those of this one: first the named namespaces in their order, then
// what lies outside namespaces. The definition of DatabaseCluster stays.
func (b *Bed) RemoveInstall(ctx context.Context, namespaces ...string) error {
	for _, namespace := range namespaces {
		if _, err := b.Kubectl(ctx, "", "delete", "namespace", namespace, "--ignore-not-found", "--timeout=400s"); err != nil {
			return err
		}
	}
	kinds, err := b.Kubectl(ctx, "", "api-resources", "--namespaced=false", "--verbs=list,delete", "-o", "name")
	if err != nil {
		return err
	}
	objects, err := b.Kubectl(ctx, "", "get", strings.Join(strings.Fields(kinds), ","), "-o", "name")
	if err != nil {
		return err
	}
	var ours []string
	for object := range strings.FieldsSeq(objects) {
		if strings.Contains(object, "/rollcall-") {
			ours = append(ours, object)
		}
	}
	if len(ours) == 0 {
		return nil
	}
	_, err = b.Kubectl(ctx, "", append([]string{"delete", "--ignore-not-found"}, ours...)...)
	return err
}

// Leader is the coordinator that holds the Lease.
func (b *Bed) Leader(ctx context.Context) (*corev1.Pod, error) {
	lease, err := b.Kube.CoordinationV1().Leases(InstallNamespace).Get(ctx, "rollcall-coordinator", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return nil, errors.New("nobody holds the Lease")
	}
	return b.Kube.CoreV1().Pods(InstallNamespace).Get(ctx, *lease.Spec.HolderIdentity, metav1.GetOptions{})
}
