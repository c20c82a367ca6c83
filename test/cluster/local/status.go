package local

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/test/cluster/volume"
)

// Status writes what runs and what does not. It recycles released volumes on the way, as Up does.
func (c *Cluster) Status(ctx context.Context, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	fmt.Fprintf(w, "cluster     %s (instance %d) in %s\n", c.Name, c.Plan.Instance, c.Dir)
	fmt.Fprintf(w, "kubeconfig  %s\nkubectl     %s\nAPI server  %s\nDNS         %s\n",
		c.Plan.Kubeconfig(), c.Plan.Path("bin", "kubectl"), c.Plan.Server(), c.Plan.BridgeIP())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nPROCESS\tPID")
	running := 0
	for _, name := range c.runner.Table.Names() {
		state := "ended"
		if pid, ok := c.runner.Table.Alive(name); ok {
			state = fmt.Sprint(pid)
			running++
		}
		fmt.Fprintf(t, "%s\t%s\n", name, state)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if running == 0 {
		fmt.Fprintln(w, "nothing runs; bring it up with `up`")
		return nil
	}
	client, err := Client(c.Plan.Kubeconfig())
	if err != nil {
		return err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("the API server does not answer; `up` repairs: %w", err)
	}
	fmt.Fprintln(t, "\nNODE\tZONE\tADDRESS\tPODS\tSTATE")
	for _, n := range c.Plan.Nodes {
		state := notReady(n.Name, nodes.Items)
		if state == "" {
			state = "ready"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", n.Name, n.Zone, n.IP, n.Pods, state)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	recycled, err := volume.Ensure(ctx, client, c.Plan)
	if err != nil {
		return err
	}
	volumes, err := client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	free := 0
	for _, v := range volumes.Items {
		if v.Status.Phase == corev1.VolumeAvailable || v.Status.Phase == corev1.VolumePending {
			free++
		}
	}
	fmt.Fprintf(w, "\nvolumes     %d, of which %d free (%d just recycled)\n", len(volumes.Items), free, recycled)
	return nil
}
