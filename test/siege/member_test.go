package siege

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// member is a pod of a rolling database, and its agent, which says what an agent says.
type member struct {
	rollcallv1.UnimplementedAgentServiceServer
	db          *rolling
	pod, uid    string
	began       time.Time
	incarnation uint64
	server      *grpc.Server

	// What follows is the database's, by db.mu.
	sequence uint64
	drain    rollcallv1.Drain
	claim    string
}

func (m *member) register() { rollcallv1.RegisterAgentServiceServer(m.server, m) }

func nodeOf(pod string) string { return pod + ":8983_solr" }

// report is of one shard with a copy on each pod. db.mu is held.
func (m *member) report() *rollcallv1.Report {
	m.sequence++
	alive := time.Since(m.began)
	r := &rollcallv1.Report{
		Identity: &rollcallv1.Identity{Namespace: honestNamespace, Cluster: rollingName, ClusterUid: m.db.uid, Pod: m.pod, PodUid: m.uid, Incarnation: m.incarnation},
		Sequence: m.sequence, Age: durationpb.New(0), ObservedAt: timestamppb.Now(), Uptime: durationpb.New(alive),
		Engine: "Solr", EngineVersion: "9.9.0", Node: nodeOf(m.pod), Verdict: rollcallv1.Verdict_VERDICT_GREEN,
		Member: rollcallv1.Membership_MEMBERSHIP_LIVE, Settled: true, SettledFor: durationpb.New(alive), Drain: m.drain, DrainClaim: m.claim,
	}
	shard := &rollcallv1.Group{Id: "books/1", Kind: rollcallv1.GroupKind_GROUP_KIND_SHARD, NeedsLeader: true}
	for i := range rollingPods {
		pod := rollingName + "-" + strconv.Itoa(i)
		state, is := rollcallv1.MemberState_MEMBER_STATE_ACTIVE, rollcallv1.Membership_MEMBERSHIP_LIVE
		if m.db.members[pod] == nil {
			state, is = rollcallv1.MemberState_MEMBER_STATE_DOWN, rollcallv1.Membership_MEMBERSHIP_NOT_LIVE
			r.Verdict = rollcallv1.Verdict_VERDICT_RECOVERABLE
		}
		shard.Members = append(shard.Members, &rollcallv1.Member{Id: "core" + strconv.Itoa(i), Node: nodeOf(pod), State: state, Eligible: true, Leader: m.db.leader == pod})
		r.Nodes = append(r.Nodes, &rollcallv1.MemberNode{Name: nodeOf(pod), Address: pod + ":8983", Member: is})
	}
	r.Groups = []*rollcallv1.Group{shard}
	return r
}

func (m *member) GetReport(_ context.Context, request *rollcallv1.GetReportRequest) (*rollcallv1.Report, error) {
	m.db.mu.Lock()
	defer m.db.mu.Unlock()
	r := m.report()
	r.AllGroups = request.GetAllGroups()
	return r, nil
}

func (m *member) WatchReport(request *rollcallv1.WatchReportRequest, stream grpc.ServerStreamingServer[rollcallv1.Report]) error {
	for stream.Context().Err() == nil {
		m.db.mu.Lock()
		r := m.report()
		m.db.mu.Unlock()
		r.AllGroups = request.GetAllGroups()
		if err := stream.Send(r); err != nil {
			return err
		}
		pause(stream.Context(), time.Second/2)
	}
	return nil
}

func (m *member) WatchRoster(_ *rollcallv1.WatchRosterRequest, stream grpc.ServerStreamingServer[rollcallv1.Roster]) error {
	for stream.Context().Err() == nil {
		if err := stream.Send(m.roster()); err != nil {
			return err
		}
		pause(stream.Context(), time.Second/2)
	}
	return nil
}

func (m *member) roster() *rollcallv1.Roster {
	m.db.mu.Lock()
	defer m.db.mu.Unlock()
	roster := &rollcallv1.Roster{Identity: m.report().GetIdentity(), Synced: true}
	for _, name := range slices.Sorted(maps.Keys(m.db.members)) {
		r := m.db.members[name].report()
		roster.Entries = append(roster.Entries, &rollcallv1.RosterEntry{Liveness: rollcallv1.Liveness_LIVENESS_ALIVE, Headline: &rollcallv1.Headline{
			Pod: name, PodUid: r.GetIdentity().GetPodUid(), Incarnation: r.GetIdentity().GetIncarnation(), Sequence: r.GetSequence(), Phase: rollcallv1.Phase_PHASE_WATCHING,
			Member: r.GetMember(), Verdict: r.GetVerdict(), Drain: r.GetDrain(), Node: r.GetNode(),
		}})
	}
	return roster
}

func (m *member) PlanDrain(_ context.Context, request *rollcallv1.PlanDrainRequest) (*rollcallv1.PlanDrainResponse, error) {
	return &rollcallv1.PlanDrainResponse{Undo: []byte(request.GetClaim())}, nil
}

// Drain hands the lead over.
func (m *member) Drain(_ context.Context, request *rollcallv1.DrainRequest) (*rollcallv1.DrainResponse, error) {
	m.db.mu.Lock()
	defer m.db.mu.Unlock()
	m.drain, m.claim = rollcallv1.Drain_DRAIN_DRAINED, request.GetClaim()
	if m.db.leader == m.pod {
		for _, name := range slices.Sorted(maps.Keys(m.db.members)) {
			if name != m.pod {
				m.db.leader = name
				break
			}
		}
	}
	return &rollcallv1.DrainResponse{State: rollcallv1.Drain_DRAIN_DRAINED}, nil
}

func (m *member) Restore(_ context.Context, request *rollcallv1.RestoreRequest) (*rollcallv1.RestoreResponse, error) {
	m.db.mu.Lock()
	defer m.db.mu.Unlock()
	if m.claim == request.GetClaim() {
		m.drain, m.claim = rollcallv1.Drain_DRAIN_NONE, ""
	}
	return &rollcallv1.RestoreResponse{Done: true}, nil
}
