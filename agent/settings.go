package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"reflect"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/agent/gossip"
	"github.com/rollcall-dev/rollcall/agent/peers"
	"github.com/rollcall-dev/rollcall/agent/probe"
	"github.com/rollcall-dev/rollcall/agent/trust"
	"github.com/rollcall-dev/rollcall/engines"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// settings applies the mounted files, and every change of them, to the running
// agent. Missing or invalid files change nothing.
type settings struct {
	options  *Options
	identity *rollcallv1.Identity
	slot     *probe.Slot
	board    *probe.Board
	fence    *fence.Fence
	mesh     *peers.Keeper
	keys     *trust.Keys
	peers    engines.Peers
	metrics  *metrics
	gossip   *gossip.Metrics
	logger   *slog.Logger

	current config.Material

	mu      sync.Mutex
	applied bool
	file    config.File // of current, for readers
	problem string      // why the current files, or the engine, are not used
}

// run polls the files until ctx ends: the kubelet swaps whole directories, and
// reading five small files costs less than watching them. It calls polled after each
// poll.
func (s *settings) run(ctx context.Context, polled func()) {
	defer s.mesh.Stop()
	for {
		problem := s.poll(ctx)
		s.keys.Sweep()
		polled()
		s.mu.Lock()
		if problem != s.problem {
			if problem != "" {
				s.logger.Warn("configuration is not used", "reason", problem)
			} else {
				s.logger.Info("configuration is used")
			}
		}
		s.problem = problem
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.options.ConfigInterval):
		}
	}
}

func (s *settings) poll(ctx context.Context) (problem string) {
	var known [sha256.Size]byte
	if s.trouble() == "" {
		known = s.current.Fingerprint
	}
	m, err := config.Read(s.options.ConfigDir, s.options.Insecure, known)
	switch {
	case errors.Is(err, config.ErrUnchanged):
		return ""
	case err != nil:
		return err.Error()
	}
	if err := s.apply(ctx, m); err != nil {
		return err.Error()
	}
	return ""
}

func (s *settings) apply(ctx context.Context, m config.Material) error {
	if own := s.options.Identity.PodIP; !m.File.GossipFrom(own) {
		// The rest of the configuration still applies: a list that lacks a network
		// must not keep certificates from being renewed.
		s.logger.Warn("this pod's own address is not among gossipCIDRs, so the other agents drop what it says in the gossip; it must have the networks of all database pods (agent.gossipCIDRs of Rollcall's chart)",
			"address", own.String(), "gossipCIDRs", fmt.Sprint(m.File.GossipCIDRs))
	}
	if m.Certificate != nil {
		s.keys.Set(m.Certificate, m.ClientCAs, config.ServerName(s.options.Identity.Namespace, s.options.Identity.Cluster))
		s.metrics.certificate(m.Certificate.Leaf)
	}
	old := s.current.File
	first := !s.isApplied()
	var failed error

	if first || old.Engine != m.File.Engine || !sameDatabase(old, m.File) || s.trouble() != "" {
		engine, err := s.options.NewEngine(m.File, s.peers)
		if err != nil {
			failed = fmt.Errorf("engine: %w", err)
		} else if err := s.slot.Set(engine); err != nil {
			s.logger.Warn("previous engine adapter did not close", "error", err)
		}
	}
	s.mu.Lock()
	s.file, s.applied = m.File, true
	s.mu.Unlock()
	previous := s.current
	s.current = m

	if first || old.ClusterUID != m.File.ClusterUID || old.Service != m.File.Service {
		s.mesh.Stop()
		identity := proto.CloneOf(s.identity)
		identity.ClusterUid = m.File.ClusterUID
		s.identity = identity
		s.fence.SetCluster(m.File.ClusterUID)
		s.board.SetIdentity(identity, m.File.Engine)
		s.mesh.Start(ctx, m.GossipKeys, func(keys [][]byte) (peers.Mesh, error) { return s.newMesh(m.File, keys) })
	} else {
		s.board.SetIdentity(s.identity, m.File.Engine)
		if !sameKeys(previous.GossipKeys, m.GossipKeys) {
			if err := s.mesh.Rekey(m.GossipKeys); err != nil {
				failed = errors.Join(failed, err)
			} else {
				s.logger.Info("gossip keys changed", "keys", len(m.GossipKeys))
			}
		}
	}
	return failed
}

func (s *settings) newMesh(file config.File, keys [][]byte) (peers.Mesh, error) {
	id := s.options.Identity
	return s.options.NewMesh(gossip.Options{
		Namespace: id.Namespace, Cluster: id.Cluster, ClusterUID: file.ClusterUID,
		Pod: id.Pod, PodUID: id.PodUID,
		Address:  netip.AddrPortFrom(id.PodIP, s.options.GossipPort),
		Keys:     keys,
		Insecure: s.options.Insecure,
		Peers:    func(ctx context.Context) ([]netip.AddrPort, error) { return s.options.Peers(ctx, file.Service) },
		Allowed: func(ip netip.Addr) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.file.GossipFrom(ip)
		},
		Near: func(ip netip.Addr) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.file.NearPods(ip)
		},
		Transport: s.options.Transport,
		Metrics:   s.gossip,
		Logger:    s.logger,
	})
}

// stopNetworks returns those that the configuration names for the stop hook.
func (s *settings) stopNetworks() []netip.Prefix {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file.StopHookCIDRs
}

func (s *settings) drain() config.Drain {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file.Drain
}

// observes reports whether the agent must do nothing that nobody ordered. That is so
// until the configuration was read.
func (s *settings) observes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.applied || s.file.Observe
}

func (s *settings) isApplied() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.applied
}

func (s *settings) trouble() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problem
}

// sameDatabase reports whether two configurations ask for the same adapter.
func sameDatabase(a, b config.File) bool {
	return reflect.DeepEqual(a.Connection, b.Connection) && reflect.DeepEqual(a.Secrets, b.Secrets) && a.Copied == b.Copied
}

func sameKeys(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if string(a[i]) != string(b[i]) {
			return false
		}
	}
	return true
}

// resolve finds peers by the name of the headless Service, which includes pods that
// are not ready.
func resolve(port uint16) func(context.Context, string) ([]netip.AddrPort, error) {
	return func(ctx context.Context, service string) ([]netip.AddrPort, error) {
		if service == "" {
			return nil, errors.New("service is empty; it must be the name under which agents are found")
		}
		ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", service)
		if err != nil {
			return nil, err
		}
		peers := make([]netip.AddrPort, 0, len(ips))
		for _, ip := range ips {
			peers = append(peers, netip.AddrPortFrom(ip.Unmap(), port))
		}
		return peers, nil
	}
}
