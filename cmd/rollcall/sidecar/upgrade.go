package sidecar

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Upgrade changes the image of the agents of one database, one pod at a time.
type Upgrade struct {
	Kubernetes kubernetes.Interface
	Clusters   v1alpha1.Clients
	Namespace  string
	Name       string // of the DatabaseCluster
	Image      string
	// Timeout is how long one agent may take to run with it.
	Timeout time.Duration
	// DryRun only says what would be done.
	DryRun bool
	// Say is called for every step.
	Say func(format string, args ...any)
}

// Result is what became of one pod's agent.
type Result struct {
	Pod  string `json:"pod"`
	From string `json:"from"`
	// Done is Upgraded, Current, Planned or NoAgent.
	Done Done `json:"done"`
}

// Done is what became of one pod's agent.
type Done string

// What can become of a pod's agent.
const (
	Upgraded Done = "Upgraded" // it runs with the image
	Current  Done = "Current"  // it ran with it before
	Planned  Done = "Planned"  // a dry run: it would be upgraded
	NoAgent  Done = "NoAgent"  // there is none in this pod
)

// lookEvery is the interval of polling.
const lookEvery = time.Second

// Run upgrades all agents that do not run with the image yet. It stops at the first agent that does
// not come back, and restores its old image.
func (u *Upgrade) Run(ctx context.Context) ([]Result, error) {
	pods, err := u.pods(ctx)
	if err != nil {
		return nil, err
	}
	for i := range pods {
		if c := kube.AgentOf(&pods[i].Spec); c != nil {
			if err := farApart(c.Image, u.Image); err != nil {
				return nil, fmt.Errorf("pod %s: %w", pods[i].Name, err)
			}
		}
	}
	results := make([]Result, 0, len(pods))
	for i := range pods {
		done, from, err := u.one(ctx, pods[i].Name, fmt.Sprintf("%d of %d", i+1, len(pods)))
		if err != nil {
			return results, fmt.Errorf("pod %s: %w", pods[i].Name, err)
		}
		results = append(results, Result{Pod: pods[i].Name, From: from, Done: done})
	}
	return results, nil
}

func (u *Upgrade) pods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := u.Kubernetes.CoreV1().Pods(u.Namespace).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelCluster + "=" + u.Name})
	if err != nil {
		return nil, fmt.Errorf("list the pods of %s: %w", u.Name, err)
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("no pod in namespace %s has the label %s=%s", u.Namespace, v1alpha1.LabelCluster, u.Name)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int {
		return cmp.Or(cmp.Compare(model.SetOf(a.Name), model.SetOf(b.Name)), cmp.Compare(ordinalOf(b.Name), ordinalOf(a.Name)))
	})
	return list.Items, nil
}

func ordinalOf(pod string) int {
	n, _ := strconv.Atoi(pod[strings.LastIndexByte(pod, '-')+1:])
	return n
}

// one upgrades the agent of one pod.
func (u *Upgrade) one(ctx context.Context, name, which string) (done Done, from string, err error) {
	pod, err := u.undisturbed(ctx, name, which)
	if err != nil {
		return "", "", err
	}
	agent := kube.AgentOf(&pod.Spec)
	switch {
	case agent == nil:
		u.Say("%s (%s): it has no agent; it gets one when it is restarted", name, which)
		return NoAgent, "", nil
	case agent.Image == u.Image:
		u.Say("%s (%s): its agent runs %s already", name, which, u.Image)
		return Current, agent.Image, nil
	case u.DryRun:
		u.Say("%s (%s): its agent would go from %s to %s", name, which, agent.Image, u.Image)
		return Planned, agent.Image, nil
	}
	began := time.Now()
	if err := u.setImage(ctx, pod, u.Image); err != nil {
		return "", agent.Image, err
	}
	u.Say("%s (%s): its agent goes from %s to %s", name, which, agent.Image, u.Image)
	if err := u.runs(ctx, pod); err != nil {
		return "", agent.Image, errors.Join(err, u.takeBack(ctx, pod, agent.Image))
	}
	u.Say("%s (%s): its agent runs after %s", name, which, time.Since(began).Round(time.Second))
	return Upgraded, agent.Image, nil
}

// undisturbed waits until the pod is idle: an agent that drains is not restarted.
func (u *Upgrade) undisturbed(ctx context.Context, name, which string) (*corev1.Pod, error) {
	var pod *corev1.Pod
	why := ""
	err := wait.PollUntilContextCancel(ctx, lookEvery, true, func(ctx context.Context) (done bool, err error) {
		said := why
		if why, err = u.claimed(ctx, name); err != nil {
			return false, err
		}
		pod, err = u.Kubernetes.CoreV1().Pods(u.Namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			why = "it is being replaced"
		case err != nil:
			return false, err
		case pod.DeletionTimestamp != nil:
			why = "it is terminating"
		case why == "":
			return true, nil
		}
		if why != said {
			u.Say("%s (%s): waiting, %s", name, which, why)
		}
		return false, nil
	})
	if ctx.Err() != nil {
		err = fmt.Errorf("%s: %w", why, err)
	}
	return pod, err
}

// claimed returns the claim of the pod, if it has one.
func (u *Upgrade) claimed(ctx context.Context, pod string) (string, error) {
	cluster, err := u.Clusters.DatabaseClusters(u.Namespace).Get(ctx, u.Name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read the DatabaseCluster %s: %w", u.Name, err)
	}
	for _, c := range cluster.Status.Claims {
		if c.Pod == pod {
			return fmt.Sprintf("it is claimed (%s)", cmp.Or(string(c.Phase), "phase unknown")), nil
		}
	}
	return "", nil
}

// setImage patches exactly the pod that was looked at, unless it has changed since.
func (u *Upgrade) setImage(ctx context.Context, pod *corev1.Pod, image string) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},
		"spec":     map[string]any{"initContainers": []map[string]any{{"name": v1alpha1.AgentContainer, "image": image}}},
	})
	if err != nil {
		return err
	}
	_, err = u.Kubernetes.CoreV1().Pods(u.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: "rollcall"})
	if err != nil {
		return fmt.Errorf("set the image of its agent: %w", err)
	}
	return nil
}

// runs waits until the pod's agent runs again and is ready.
func (u *Upgrade) runs(ctx context.Context, before *corev1.Pod) error {
	why := "its agent has not been restarted"
	replaced := false
	err := wait.PollUntilContextTimeout(ctx, lookEvery, u.Timeout, true, func(ctx context.Context) (ok bool, _ error) {
		pod, err := u.Kubernetes.CoreV1().Pods(u.Namespace).Get(ctx, before.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), err == nil && pod.UID != before.UID:
			replaced = true
			return true, nil
		case err == nil:
			ok, why = isUp(before, pod)
		case ctx.Err() == nil:
			why = err.Error()
		}
		return ok, nil
	})
	switch {
	case replaced:
		return errors.New("it was replaced meanwhile: run this again")
	case err != nil:
		return fmt.Errorf("the agent did not come back: %s: %w", why, err)
	}
	return nil
}

// isUp compares the agent's container with what it was before.
func isUp(before, after *corev1.Pod) (bool, string) {
	was, is := stateOf(before), stateOf(after)
	switch {
	case is.State.Waiting != nil:
		return false, fmt.Sprintf("it waits: %s %s", is.State.Waiting.Reason, is.State.Waiting.Message)
	case is.RestartCount <= was.RestartCount && is.ContainerID == was.ContainerID:
		return false, "it has not been restarted yet"
	case is.State.Running == nil:
		return false, "it does not run"
	case !is.Ready:
		return false, "it is not ready"
	}
	return true, ""
}

func stateOf(p *corev1.Pod) corev1.ContainerStatus {
	for _, c := range p.Status.InitContainerStatuses {
		if c.Name == v1alpha1.AgentContainer {
			return c
		}
	}
	return corev1.ContainerStatus{}
}

// takeBack restores the agent's old image, even if a person has ended the wait.
func (u *Upgrade) takeBack(ctx context.Context, before *corev1.Pod, image string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	pod, err := u.Kubernetes.CoreV1().Pods(u.Namespace).Get(ctx, before.Name, metav1.GetOptions{})
	if err == nil && pod.UID == before.UID {
		err = u.setImage(ctx, pod, image)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("its agent could not be given %s again: %w", image, err)
	}
	u.Say("%s: its agent goes back to %s", before.Name, image)
	return nil
}
