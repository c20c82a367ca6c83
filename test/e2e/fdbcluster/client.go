package fdbcluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// application is one in a pod of its own: it writes and reads all the time, tries
// each operation for ten seconds, and says every second what became of them.
const application = `apiVersion: v1
kind: Pod
metadata: {name: %[1]s, namespace: demo, labels: {app: fdb-client}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  nodeName: %[2]s
  securityContext: {runAsUser: 4059, runAsGroup: 4059, fsGroup: 4059}
  initContainers:
    - name: install
      image: docker.io/rollcall-test/foundationdb:7.3.63
      imagePullPolicy: IfNotPresent
      args: [install, -dir=/var/fdb, "-connection=%[3]s"]
      volumeMounts: [{name: shared, mountPath: /var/fdb}]
  containers:
    - name: client
      image: docker.io/rollcall-test/foundationdb:7.3.63
      imagePullPolicy: IfNotPresent
      args: [client, -C=/var/fdb/fdb.cluster, -keys=100, -patience=10s, -report=1s]
      volumeMounts: [{name: shared, mountPath: /var/fdb}]
  volumes: [{name: shared, emptyDir: {}}]
`

// Client is an application that uses the database.
type Client struct {
	on  *Cluster
	pod string
}

// Stats are the stats of a client.
type Stats struct {
	Writes, Reads, Failed int
	Slowest               time.Duration
	Lost                  int
}

func (s Stats) String() string {
	return fmt.Sprintf("%d writes and %d reads, %d failed, slowest %s, %d acknowledged writes lost", s.Writes, s.Reads, s.Failed, s.Slowest, s.Lost)
}

// StartClient starts one, on the node of the world, and waits until it has written.
func (c *Cluster) StartClient(ctx context.Context, name string) (*Client, error) {
	on := c.world.All()
	if len(on) != 1 {
		return nil, fmt.Errorf("there are %d pods of the world", len(on))
	}
	v, err := c.Look(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.Bed.Apply(ctx, fmt.Sprintf(application, name, on[0].Spec.NodeName, v.Connection)); err != nil {
		return nil, err
	}
	a := &Client{on: c, pod: name}
	return a, c.Bed.Eventually(ctx, "the client's first writes", 2*time.Minute, func(ctx context.Context) error {
		s, err := a.Stats(ctx)
		if err == nil && s.Writes == 0 {
			err = errors.New("nothing is written")
		}
		return err
	})
}

// Stats so far.
func (a *Client) Stats(ctx context.Context) (Stats, error) {
	text, err := a.on.Bed.Kubectl(ctx, "", "logs", a.pod, "-n", Namespace, "-c", "client", "--tail=1")
	if err != nil {
		return Stats{}, err
	}
	return parseStats(strings.TrimSpace(text))
}

func parseStats(line string) (Stats, error) {
	var s Stats
	var slowest string
	if _, err := fmt.Sscanf(line, "writes=%d reads=%d failed=%d slowest=%s lost=%d", &s.Writes, &s.Reads, &s.Failed, &slowest, &s.Lost); err != nil {
		return Stats{}, fmt.Errorf("client: %q: %w", line, err)
	}
	var err error
	s.Slowest, err = time.ParseDuration(slowest)
	return s, err
}

// Stop returns what became of all, once each key was read again.
func (a *Client) Stop(ctx context.Context) (Stats, error) {
	before, err := a.Stats(ctx)
	if err != nil {
		return before, err
	}
	var last Stats
	err = a.on.Bed.Eventually(ctx, "the client to read everything again", time.Minute, func(ctx context.Context) error {
		var err error
		if last, err = a.Stats(ctx); err == nil && last.Reads < before.Reads+100 {
			err = fmt.Errorf("%d reads of 100", last.Reads-before.Reads)
		}
		return err
	})
	_, gone := a.on.Bed.Kubectl(ctx, "", "delete", "pod", a.pod, "-n", Namespace, "--wait=true", "--timeout=60s")
	return last, errors.Join(err, gone)
}
