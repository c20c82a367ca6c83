package main

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// announcer tells the callers of a standby who leads.
type announcer struct {
	ctx     context.Context
	client  kubernetes.Interface
	board   *status.Board
	options options
	log     *slog.Logger

	mu      sync.Mutex
	leads   bool
	current string
}

// lead notes that this coordinator leads until stop is called.
func (a *announcer) lead() (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.leads = true
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.leads = false
	}
}

// heard is called for each new leader, in a goroutine of its own.
func (a *announcer) heard(identity string) {
	a.mu.Lock()
	a.current = identity
	a.mu.Unlock()
	a.log.Info("leader", "identity", identity)
	if identity == "" || identity == a.options.identity {
		return
	}
	address := a.address(identity)
	a.mu.Lock()
	defer a.mu.Unlock()
	// Asking took time: this coordinator, or a third, may have been elected since.
	if !a.leads && a.current == identity {
		a.board.Follow(address)
	}
}

// address returns the address of another coordinator's gRPC service; empty when it cannot be told,
// as for one that runs outside of the Kubernetes cluster.
func (a *announcer) address(identity string) string {
	ctx, cancel := context.WithTimeout(a.ctx, 10*time.Second)
	defer cancel()
	pod, err := a.client.CoreV1().Pods(a.options.namespace).Get(ctx, identity, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		a.log.Warn("the leader's address is not known", "identity", identity, "error", err)
	}
	_, port, splitErr := net.SplitHostPort(a.options.grpcAddr)
	if err != nil || splitErr != nil || pod.Status.PodIP == "" {
		return ""
	}
	return net.JoinHostPort(pod.Status.PodIP, port)
}
