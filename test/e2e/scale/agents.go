package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rollcall-dev/rollcall/agent/config"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

const (
	heartbeat = 5 * time.Second // of streams, as real agents have it
	look      = time.Second     // between two looks at a database
	copies    = 3               // of each shard
)

// agents answers for the agents of all pods. All addresses of pods lead here, and the address at which a connection
// arrived tells which pod is meant.
type agents struct {
	rollcallv1.UnimplementedAgentServiceServer

	mu        sync.Mutex
	byIP      map[string]*member
	databases map[string]*database // by namespace

	streams, messages atomic.Int64
}

// database is one simulated SolrCloud: as many shards as pods, each with copies on neighbours.
type database struct {
	namespace, name, uid string
	tls                  *tls.Config

	mu       sync.Mutex
	members  []*member     // by ordinal; nil = no pod
	changed  chan struct{} // closed when the next look sees something new
	dirty    bool
	prepared map[string]time.Time // pod to when its agent last reported that it is drained
}

// member is one pod.
type member struct {
	db             *database
	ordinal        int
	pod, uid, zone string
	ip             string
	live           time.Time // since or from when it is a member of the database
	incarnation    uint64
	began          time.Time // of the agent

	sequence uint64
	drain    rollcallv1.Drain
	claim    string
}

func newAgents() *agents {
	return &agents{byIP: map[string]*member{}, databases: map[string]*database{}}
}

func (a *agents) add(namespace, name, uid string, pods int) *database {
	db := &database{namespace: namespace, name: name, uid: uid, members: make([]*member, pods), changed: make(chan struct{}),
		prepared: map[string]time.Time{}}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.databases[namespace] = db
	return db
}

func (a *agents) database(namespace string) *database {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.databases[namespace]
}

// started is called for each pod that runs.
func (a *agents) started(db *database, m *member) {
	db.mu.Lock()
	if old := db.members[m.ordinal]; old != nil && old.uid == m.uid {
		db.mu.Unlock()
		return
	}
	m.db, m.drain, m.began = db, rollcallv1.Drain_DRAIN_NONE, time.Now()
	m.incarnation = uint64(m.began.UnixNano())
	db.members[m.ordinal] = m
	db.dirty = true
	db.mu.Unlock()
	a.mu.Lock()
	a.byIP[m.ip] = m
	a.mu.Unlock()
	time.AfterFunc(time.Until(m.live), func() {
		db.mu.Lock()
		defer db.mu.Unlock()
		db.dirty = true
	})
}

// ended is called for each pod that stops or is gone.
func (a *agents) ended(db *database, ordinal int, uid string) {
	db.mu.Lock()
	m := db.members[ordinal]
	if m == nil || m.uid != uid {
		db.mu.Unlock()
		return
	}
	db.members[ordinal] = nil
	db.dirty = true
	db.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byIP[m.ip] == m {
		delete(a.byIP, m.ip)
	}
}

// watch lets the agents of a database look once a second; what is new wakes their streams.
func (db *database) watch(ctx context.Context) {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		db.mu.Lock()
		if db.dirty {
			db.dirty = false
			close(db.changed)
			db.changed = make(chan struct{})
		}
		db.mu.Unlock()
	}
}

// serve returns until ctx ends, on one port of all addresses of this machine.
func (a *agents) serve(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "0.0.0.0:"+strconv.Itoa(config.PortGRPC))
	if err != nil {
		return err
	}
	server := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: a.tls})),
	)
	rollcallv1.RegisterAgentServiceServer(server, a)
	stop := context.AfterFunc(ctx, server.Stop)
	defer stop()
	if err := server.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// tls is what the agent at the address that was dialled serves with: the certificate that the coordinator has made.
func (a *agents) tls(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	m, err := a.at(hello.Conn.LocalAddr())
	if err != nil {
		return nil, err
	}
	m.db.mu.Lock()
	defer m.db.mu.Unlock()
	if m.db.tls == nil {
		return nil, errors.New("the certificates of this database are not there yet")
	}
	return m.db.tls, nil
}

// trust takes the Secret that the coordinator has made for the agents of a database.
func (db *database) trust(data map[string][]byte) error {
	certificate, err := tls.X509KeyPair(data[config.KeyCert], data[config.KeyKey])
	if err != nil {
		return fmt.Errorf("secret of %s/%s: %w", db.namespace, db.name, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data[config.KeyCA]) {
		return fmt.Errorf("secret of %s/%s: no certificate in %s", db.namespace, db.name, config.KeyCA)
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.tls = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, NextProtos: []string{"h2"}}
	return nil
}

func (a *agents) at(address net.Addr) (*member, error) {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.byIP[host]
	if m == nil {
		return nil, fmt.Errorf("no pod has the address %s", host)
	}
	return m, nil
}

// meant is the pod that a call is for.
func (a *agents) meant(ctx context.Context) (*member, error) {
	p, ok := peer.FromContext(ctx)
	if !ok || p.LocalAddr == nil {
		return nil, status.Error(codes.Internal, "a call without an address")
	}
	m, err := a.at(p.LocalAddr)
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return m, nil
}

func (a *agents) GetReport(ctx context.Context, r *rollcallv1.GetReportRequest) (*rollcallv1.Report, error) {
	m, err := a.meant(ctx)
	if err != nil {
		return nil, err
	}
	report, _ := m.report(r.GetAllGroups())
	a.messages.Add(1)
	return report, nil
}

func (a *agents) WatchReport(r *rollcallv1.WatchReportRequest, stream grpc.ServerStreamingServer[rollcallv1.Report]) error {
	return a.stream(stream.Context(), func(m *member) (<-chan struct{}, error) {
		report, changed := m.report(r.GetAllGroups())
		return changed, stream.Send(report)
	})
}

func (a *agents) WatchRoster(_ *rollcallv1.WatchRosterRequest, stream grpc.ServerStreamingServer[rollcallv1.Roster]) error {
	return a.stream(stream.Context(), func(m *member) (<-chan struct{}, error) {
		roster, changed := m.roster()
		return changed, stream.Send(roster)
	})
}

// stream sends at once, after every change, and with every heartbeat, until the pod has ended.
func (a *agents) stream(ctx context.Context, send func(*member) (<-chan struct{}, error)) error {
	a.streams.Add(1)
	defer a.streams.Add(-1)
	timer := time.NewTimer(heartbeat)
	defer timer.Stop()
	for {
		m, err := a.meant(ctx)
		if err != nil {
			return err
		}
		changed, err := send(m)
		if err != nil {
			return err
		}
		a.messages.Add(1)
		timer.Reset(heartbeat)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-timer.C:
		}
	}
}

var errOtherPod = status.Error(codes.FailedPrecondition, "another pod is meant")

func (a *agents) PlanDrain(ctx context.Context, r *rollcallv1.PlanDrainRequest) (*rollcallv1.PlanDrainResponse, error) {
	m, err := a.meant(ctx)
	if err != nil {
		return nil, err
	}
	m.db.mu.Lock()
	defer m.db.mu.Unlock()
	if r.GetPodUid() != m.uid || r.GetFence().GetClusterUid() != m.db.uid {
		return nil, errOtherPod
	}
	return &rollcallv1.PlanDrainResponse{Undo: []byte(r.GetClaim())}, nil
}

func (a *agents) Drain(ctx context.Context, r *rollcallv1.DrainRequest) (*rollcallv1.DrainResponse, error) {
	m, err := a.meant(ctx)
	if err != nil {
		return nil, err
	}
	m.db.mu.Lock()
	defer m.db.mu.Unlock()
	if r.GetPodUid() != m.uid || r.GetFence().GetClusterUid() != m.db.uid {
		return nil, errOtherPod
	}
	m.drain, m.claim, m.db.dirty = rollcallv1.Drain_DRAIN_DRAINED, r.GetClaim(), true
	m.db.prepared[m.pod] = time.Now()
	return &rollcallv1.DrainResponse{State: m.drain}, nil
}

func (a *agents) Restore(ctx context.Context, r *rollcallv1.RestoreRequest) (*rollcallv1.RestoreResponse, error) {
	m, err := a.meant(ctx)
	if err != nil {
		return nil, err
	}
	m.db.mu.Lock()
	defer m.db.mu.Unlock()
	if m.claim == r.GetClaim() {
		m.drain, m.claim, m.db.dirty = rollcallv1.Drain_DRAIN_NONE, "", true
	}
	return &rollcallv1.RestoreResponse{Done: true}, nil
}

// isLive reports whether the member of an ordinal takes part. mu is held.
func (db *database) isLive(ordinal int) bool {
	m := db.members[ordinal]
	return m != nil && !time.Now().Before(m.live)
}

func (db *database) node(ordinal int) string {
	return fmt.Sprintf("%s-%d.%s:8983_solr", db.name, ordinal, db.name)
}

// report is what the pod's agent sees now.
func (m *member) report(all bool) (*rollcallv1.Report, <-chan struct{}) {
	db := m.db
	db.mu.Lock()
	defer db.mu.Unlock()
	m.sequence++
	r := &rollcallv1.Report{
		Identity: m.identity(), Sequence: m.sequence, Age: durationpb.New(0), ObservedAt: timestamppb.Now(), Uptime: durationpb.New(time.Since(m.began)),
		Engine: "Solr", EngineVersion: "9.9.0", Node: db.node(m.ordinal), Verdict: rollcallv1.Verdict_VERDICT_GREEN,
		Member: rollcallv1.Membership_MEMBERSHIP_NOT_LIVE, Drain: m.drain, DrainClaim: m.claim, AllGroups: all,
	}
	if db.isLive(m.ordinal) {
		r.Member, r.Settled, r.SettledFor = rollcallv1.Membership_MEMBERSHIP_LIVE, true, durationpb.New(time.Since(m.live))
	}
	n := len(db.members)
	r.Nodes = make([]*rollcallv1.MemberNode, 0, n)
	for i := range n {
		is := rollcallv1.Membership_MEMBERSHIP_NOT_LIVE
		if db.isLive(i) {
			is = rollcallv1.Membership_MEMBERSHIP_LIVE
		} else {
			r.Verdict = rollcallv1.Verdict_VERDICT_RECOVERABLE
		}
		r.Nodes = append(r.Nodes, &rollcallv1.MemberNode{Name: db.node(i), Address: fmt.Sprintf("%s-%d.%s:8983", db.name, i, db.name), Member: is})
	}
	for shard := range n {
		// Copies of a shard lie on pods shard, shard+1, ...
		if mine := (m.ordinal-shard+n)%n < copies; all || mine {
			r.Groups = append(r.Groups, db.shard(shard))
		}
	}
	return r, db.changed
}

// shard is one group. mu is held.
func (db *database) shard(shard int) *rollcallv1.Group {
	g := &rollcallv1.Group{Id: fmt.Sprintf("books/shard%d", shard), Kind: rollcallv1.GroupKind_GROUP_KIND_SHARD, NeedsLeader: true}
	leads := false
	for c := range min(copies, len(db.members)) {
		at := (shard + c) % len(db.members)
		replica := &rollcallv1.Member{Id: fmt.Sprintf("core_node%d", shard*copies+c), Node: db.node(at), State: rollcallv1.MemberState_MEMBER_STATE_DOWN, Eligible: true}
		if db.isLive(at) {
			replica.State = rollcallv1.MemberState_MEMBER_STATE_ACTIVE
			if m := db.members[at]; !leads && m.drain == rollcallv1.Drain_DRAIN_NONE {
				replica.Leader, leads = true, true
			}
		}
		g.Members = append(g.Members, replica)
	}
	return g
}
