package suite

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/scrapes"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// recording is a file in which the metrics of all coordinators and agents are to be
// left, once a second while tests run; test/dashboard draws the dashboard from it.
var recording = os.Getenv("ROLLCALL_RECORD")

// record begins the recording, if there is to be one. What it answers ends it.
func record(b *testbed.Bed) (end func() error, err error) {
	if recording == "" {
		return func() error { return nil }, nil
	}
	out, err := os.Create(recording)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	coordinators, err := b.WatchPods(ctx, testbed.InstallNamespace, "app.kubernetes.io/component=coordinator", 0)
	if err != nil {
		stop()
		return nil, err
	}
	agents, err := b.WatchPods(ctx, "", "rollcall.dev/cluster", 0)
	if err != nil {
		stop()
		return nil, err
	}
	ended := make(chan error)
	go func() {
		ended <- scrapes.Record(ctx, out, time.Second, func() []scrapes.Target {
			return append(scraped("rollcall-coordinator", "http", coordinators.All()), scraped("rollcall-agent", "rc-http", agents.All())...)
		})
	}()
	return func() error {
		stop()
		return <-ended
	}, nil
}

// scraped are pods as targets, with the labels that deploy/docs/metrics.md gives them.
func scraped(job, port string, pods []*corev1.Pod) (targets []scrapes.Target) {
	for _, pod := range pods {
		for _, c := range append(slices.Clip(pod.Spec.InitContainers), pod.Spec.Containers...) {
			for _, p := range c.Ports {
				if p.Name != port || pod.Status.PodIP == "" {
					continue
				}
				address := fmt.Sprintf("%s:%d", pod.Status.PodIP, p.ContainerPort)
				labels := map[string]string{"job": job, "instance": address, "namespace": pod.Namespace, "pod": pod.Name}
				if cluster := pod.Labels["rollcall.dev/cluster"]; cluster != "" {
					labels["database"] = pod.Namespace + "/" + cluster
				}
				targets = append(targets, scrapes.Target{URL: "http://" + address + "/metrics", Labels: labels})
			}
		}
	}
	return targets
}
