package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/view"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// How often the object is read while the coordinator cannot be reached, and
// how often it is shown again although nothing has changed.
const (
	pollEvery  = 2 * time.Second
	againEvery = 3 * time.Second
)

// follow calls seen with the cluster, at once and then whenever it may have
// changed, until seen returns an error. It asks the coordinator, whichever is
// elected, and reads the object in between.
func (a *app) follow(ctx context.Context, namespace, name string, seen func(*rollcallv1.Cluster) error) error {
	told := ""
	for {
		err := a.followCoordinator(ctx, namespace, name, seen)
		var stop *stopFollowing
		switch {
		case errors.As(err, &stop):
			return stop.err
		case over(ctx):
			return ctx.Err()
		}
		anew := errors.Is(err, errAskAnew)
		if text := err.Error(); text != told && !anew {
			told = text
			fmt.Fprintf(a.streams.ErrOut, "note: %s\n", text)
		}
		if a.reach.Address == "" && !anew {
			list, err := a.readObjects(ctx, namespace, name)
			if err != nil && over(ctx) {
				return ctx.Err()
			}
			if err != nil {
				return err
			}
			if err := seen(list[0]); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// over says whether an error was to be expected because the time is up. Some
// clients give up a little before their deadline; then this waits for it.
func over(ctx context.Context) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < 200*time.Millisecond {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}

// errAskAnew: what shows who asks counts for some minutes only.
var errAskAnew = errors.New("the proof of who asks has ended")

// stopFollowing carries what seen returned past the errors of a connection.
type stopFollowing struct{ err error }

func (s *stopFollowing) Error() string { return s.err.Error() }

func (a *app) followCoordinator(ctx context.Context, namespace, name string, seen func(*rollcallv1.Cluster) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dialing, dialed := context.WithTimeout(ctx, patience)
	defer dialed()
	c, err := a.dial(dialing)
	if err != nil {
		return err
	}
	defer c.Close()
	stream, err := c.WatchCluster(ctx, &rollcallv1.WatchClusterRequest{Namespace: namespace, Name: name})
	if err != nil {
		return fromCoordinator(err)
	}
	type message struct {
		cluster *rollcallv1.Cluster
		err     error
	}
	messages := make(chan message)
	go func() {
		for {
			cluster, err := stream.Recv()
			select {
			case messages <- message{cluster, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	again := time.NewTicker(againEvery)
	defer again.Stop()
	var newest *rollcallv1.Cluster
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-messages:
			if m.err != nil && newest != nil && grpcstatus.Code(m.err) == codes.Unauthenticated {
				return errAskAnew
			}
			if m.err != nil {
				return fromCoordinator(m.err)
			}
			newest = m.cluster
		case <-again.C:
		}
		if newest == nil {
			continue
		}
		if err := seen(newest); err != nil {
			return &stopFollowing{err}
		}
	}
}

// unseenChanges says what of a cluster has changed so recently that the
// coordinator may not have seen it: a rollout that has not begun must not look
// like one that is over. It is empty when there is nothing, and also where
// this person may not look.
func (a *app) unseenChanges(ctx context.Context, namespace, name string, c *rollcallv1.Cluster) (string, error) {
	if a.reach.Address != "" {
		return "", nil
	}
	clusters, core, err := a.clients()
	if err != nil {
		return "", err
	}
	older, err := awaitingRestart(ctx, clusters, core, namespace, name)
	if older != "" || err != nil {
		return older, err
	}
	sets, err := core.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelCluster + "=" + name})
	if apierrors.IsForbidden(err) {
		return "", nil
	} else if err != nil {
		return "", fmt.Errorf("list StatefulSets of %s: %w", name, err)
	}
	return unseen(sets.Items, c), nil
}

// awaitingRestart says that a restart of all pods was asked for, while there are older ones: the coordinator begins with
// it half a minute later, as clocks differ.
func awaitingRestart(ctx context.Context, clusters v1alpha1.Clients, core kubernetes.Interface, namespace, name string) (string, error) {
	object, err := clusters.DatabaseClusters(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return "", nil
	} else if err != nil {
		return "", aboutObject(err, namespace, name)
	}
	asked := view.RestartAsked(object)
	if asked.IsZero() {
		return "", nil // nobody did, or what the status says is wrong
	}
	pods, err := core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelCluster + "=" + name})
	if apierrors.IsForbidden(err) {
		return "", nil
	} else if err != nil {
		return "", fmt.Errorf("list pods of %s: %w", name, err)
	}
	n := 0
	for i := range pods.Items {
		if pods.Items[i].CreationTimestamp.Time.Before(asked) {
			n++
		}
	}
	if n == 0 {
		return "", nil
	}
	return fmt.Sprintf("a restart of all pods was asked for at %s, and %d of %d are older; it begins %s after that",
		asked.UTC().Format(time.TimeOnly), n, len(pods.Items), view.RestartLag), nil
}

func unseen(sets []appsv1.StatefulSet, c *rollcallv1.Cluster) string {
	runs := map[string]string{}
	for _, p := range c.GetPodStates() {
		runs[p.GetPod()] = p.GetRevision()
	}
	slices.SortFunc(sets, func(x, y appsv1.StatefulSet) int { return cmp.Compare(x.Name, y.Name) })
	var waiting []string
	for _, s := range sets {
		if s.Status.ObservedGeneration < s.Generation {
			waiting = append(waiting, "Kubernetes has not yet looked at the newest change of StatefulSet "+s.Name)
			continue
		}
		for ordinal := range replicas(s) {
			pod := fmt.Sprintf("%s-%d", s.Name, start(s)+ordinal)
			if revision, known := runs[pod]; known && revision != s.Status.UpdateRevision {
				waiting = append(waiting, fmt.Sprintf("the coordinator has not yet looked at the newest change of StatefulSet %s", s.Name))
				break
			}
		}
	}
	return strings.Join(waiting, "; ")
}

func replicas(s appsv1.StatefulSet) int32 {
	if s.Spec.Replicas == nil {
		return 1
	}
	return *s.Spec.Replicas
}

func start(s appsv1.StatefulSet) int32 {
	if s.Spec.Ordinals == nil {
		return 0
	}
	return s.Spec.Ordinals.Start
}
