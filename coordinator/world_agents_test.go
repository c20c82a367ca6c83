package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rollcall-dev/rollcall/agent/term"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// run is the agent's.
func (m *member) run() term.Run {
	if m.restarted.IsZero() {
		return term.Run{Incarnation: 100, Started: m.db.w.began}
	}
	return term.Run{Incarnation: 7, Started: m.restarted}
}

// restart ends the agent and starts another, whose node's clock was set back meanwhile
// and who has nothing of the one before, so that it has a lower number.
func (m *member) restart() {
	m.db.w.mu.Lock()
	defer m.db.w.mu.Unlock()
	m.restarted, m.sequence = time.Now(), 0
	m.server.Stop()
	m.listen(true)
}

// inTime is as an agent judges the term of an order.
func (m *member) inTime(t *rollcallv1.Term) error {
	end, err := m.run().End(t)
	if err == nil && !time.Now().Before(end) {
		err = errors.New("it came too late")
	}
	if err != nil {
		m.db.late++
		return grpcstatus.Error(codes.FailedPrecondition, err.Error())
	}
	return nil
}

// report is what an agent sees now. mu is held.
func (m *member) report() *rollcallv1.Report {
	m.sequence++
	r := &rollcallv1.Report{
		Identity: &rollcallv1.Identity{Namespace: namespace, Cluster: m.db.name, ClusterUid: m.db.uid, Pod: m.pod, PodUid: string(m.uid), Incarnation: m.run().Incarnation},
		Sequence: m.sequence, Age: durationpb.New(0), ObservedAt: timestamppb.Now(), Uptime: m.run().Uptime(time.Now()),
		EngineVersion: "9.9.0", Epoch: m.db.heard, Node: m.db.node(m.pod),
		Member: rollcallv1.Membership_MEMBERSHIP_NOT_LIVE, Drain: m.drain, DrainClaim: m.claim, Verdict: rollcallv1.Verdict_VERDICT_GREEN,
	}
	if m.live {
		r.Member, r.Settled, r.SettledFor = rollcallv1.Membership_MEMBERSHIP_LIVE, true, durationpb.New(time.Since(m.settled))
	}
	r.Engine, r.Rank = string(m.db.engine), m.pool.rank
	if m.pool.manages && m.db.leader == m.pod {
		r.Roles, r.Last = []string{"elected"}, true
	}
	data := &rollcallv1.Group{Id: "books/1", Kind: rollcallv1.GroupKind_GROUP_KIND_SHARD, NeedsLeader: true}
	votes := &rollcallv1.Group{Id: "voting", Kind: rollcallv1.GroupKind_GROUP_KIND_QUORUM}
	for _, p := range m.db.pools {
		for i := range p.replicas {
			pod := p.pod(i)
			state, is := rollcallv1.MemberState_MEMBER_STATE_DOWN, rollcallv1.Membership_MEMBERSHIP_NOT_LIVE
			if other := m.db.members[pod]; other != nil && other.live {
				state, is = rollcallv1.MemberState_MEMBER_STATE_ACTIVE, rollcallv1.Membership_MEMBERSHIP_LIVE
			} else {
				r.Verdict = rollcallv1.Verdict_VERDICT_RECOVERABLE
			}
			group, id := data, "core"
			if p.manages {
				group, id, votes.MinAvailable = votes, "vote", int32(p.replicas/2+1)
			}
			node := m.db.node(pod)
			if !p.empty && m.db.excluded[pod] == "" {
				group.Members = append(group.Members, &rollcallv1.Member{Id: fmt.Sprintf("%s%d", id, len(group.Members)), Node: node, State: state,
					Eligible: true, Leader: m.db.leader == pod})
			}
			r.Nodes = append(r.Nodes, &rollcallv1.MemberNode{Name: node, Address: pod + ":8983", Member: is})
		}
	}
	r.Groups = []*rollcallv1.Group{data}
	if m.db.onePrimary {
		m.tellPrimary(r, data)
	}
	if len(votes.Members) > 0 {
		data.NeedsLeader = false
		r.Groups = append(r.Groups, votes)
	}
	return r
}

// answer is what arrives of a report, with all groups or its own. mu is held.
func (m *member) answer(all bool) *rollcallv1.Report {
	r := m.report()
	r.AllGroups = all
	if m.db.said != nil {
		return m.db.said(m.pod, r)
	}
	return r
}

func (m *member) GetReport(_ context.Context, request *rollcallv1.GetReportRequest) (*rollcallv1.Report, error) {
	m.db.w.mu.Lock()
	defer m.db.w.mu.Unlock()
	m.db.w.answered = time.Now()
	return m.answer(request.GetAllGroups()), nil
}

func (m *member) WatchReport(request *rollcallv1.WatchReportRequest, stream grpc.ServerStreamingServer[rollcallv1.Report]) error {
	wake := make(chan struct{}, 1)
	m.db.w.mu.Lock()
	m.changed[wake] = struct{}{}
	m.db.w.watching++
	m.db.w.mostWatching = max(m.db.w.mostWatching, m.db.w.watching)
	m.db.w.mu.Unlock()
	defer func() {
		m.db.w.mu.Lock()
		defer m.db.w.mu.Unlock()
		m.db.w.watching--
	}()
	heartbeat := time.NewTicker(5 * time.Second)
	defer heartbeat.Stop()
	for {
		m.db.w.mu.Lock()
		r := m.answer(request.GetAllGroups())
		m.db.w.mu.Unlock()
		if err := stream.Send(r); err != nil {
			return err
		}
		select {
		case <-stream.Context().Done():
			return nil
		case <-wake:
		case <-heartbeat.C:
		}
	}
}

func (m *member) WatchRoster(_ *rollcallv1.WatchRosterRequest, stream grpc.ServerStreamingServer[rollcallv1.Roster]) error {
	for {
		if err := stream.Send(m.roster()); err != nil {
			return err
		}
		select {
		case <-stream.Context().Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

func (m *member) roster() *rollcallv1.Roster {
	m.db.w.mu.Lock()
	defer m.db.w.mu.Unlock()
	roster := &rollcallv1.Roster{Identity: m.report().GetIdentity(), Synced: true}
	for _, name := range slices.Sorted(keys(m.db.members)) {
		r := m.db.members[name].report()
		roster.Entries = append(roster.Entries, &rollcallv1.RosterEntry{Liveness: rollcallv1.Liveness_LIVENESS_ALIVE, Headline: &rollcallv1.Headline{
			Pod: name, PodUid: r.GetIdentity().GetPodUid(), Incarnation: r.GetIdentity().GetIncarnation(), Sequence: r.GetSequence(), Phase: rollcallv1.Phase_PHASE_WATCHING,
			Member: r.GetMember(), Verdict: r.GetVerdict(), Drain: r.GetDrain(), Node: r.GetNode(), Roles: r.GetRoles(),
		}})
	}
	if m.db.rumour != 0 {
		roster.Entries = append(roster.Entries, &rollcallv1.RosterEntry{Liveness: rollcallv1.Liveness_LIVENESS_LEFT, Headline: &rollcallv1.Headline{
			Pod: "search-9", PodUid: "uid-9", Incarnation: 1, Sequence: 1, Epoch: m.db.rumour,
		}})
	}
	return roster
}

// ordered is what PlanDrain and Drain are told.
type ordered interface {
	GetClaim() string
	GetFence() *rollcallv1.Fence
	GetTerm() *rollcallv1.Term
	GetPodUid() string
	GetNode() string
}

// lets judges an order, and ends with mu held if it passes.
func (m *member) lets(ctx context.Context, r ordered) error {
	if err := m.awake(ctx); err != nil {
		return err
	}
	w := m.db.w
	w.mu.Lock()
	if err := m.judge(r); err != nil {
		w.mu.Unlock()
		return err
	}
	return nil
}

// judge says why an order is refused. mu is held.
func (m *member) judge(r ordered) error {
	if r.GetFence().GetClusterUid() != m.db.uid {
		return grpcstatus.Error(codes.FailedPrecondition, "another database is meant")
	}
	if r.GetFence().GetEpoch() < m.db.heard {
		m.db.refused++
		s, err := grpcstatus.New(codes.FailedPrecondition, "an order of a later epoch has been seen").WithDetails(
			&errdetails.ErrorInfo{Domain: "rollcall.dev", Reason: reasonStaleEpoch})
		if err != nil {
			return err
		}
		return s.Err()
	}
	m.db.heard = r.GetFence().GetEpoch()
	if err := m.inTime(r.GetTerm()); err != nil {
		return err
	}
	if r.GetNode() != "" {
		if m.strandedPod(r) == "" {
			return grpcstatus.Errorf(codes.FailedPrecondition, "%s is no stranded pod", r.GetNode())
		}
		return nil
	}
	if r.GetPodUid() != string(m.uid) {
		return grpcstatus.Error(codes.FailedPrecondition, "another pod is meant")
	}
	return nil
}

func (m *member) PlanDrain(ctx context.Context, r *rollcallv1.PlanDrainRequest) (*rollcallv1.PlanDrainResponse, error) {
	if err := m.lets(ctx, r); err != nil {
		return nil, err
	}
	defer m.db.w.mu.Unlock()
	answer := &rollcallv1.PlanDrainResponse{Undo: []byte(r.GetClaim())}
	if r.GetNode() == "" && m.db.allocation != "" && m.db.old != m.pod {
		answer.Setting, answer.SettingUndo = settingName, []byte(m.db.allocation)
	}
	return answer, nil
}

func (m *member) Drain(ctx context.Context, r *rollcallv1.DrainRequest) (*rollcallv1.DrainResponse, error) {
	if err := m.lets(ctx, r); err != nil {
		return nil, err
	}
	defer m.db.w.mu.Unlock()
	if r.GetNode() != "" {
		m.db.applied[r.GetClaim()], m.db.excluded[m.strandedPod(r)] = r.GetPodUid(), r.GetClaim()
		m.db.told()
		return &rollcallv1.DrainResponse{State: rollcallv1.Drain_DRAIN_DRAINED}, nil
	}
	if r.GetSetting() != "" && m.db.old != m.pod {
		m.db.allocation = string(r.GetSettingUndo()) + ", throttled"
		m.db.writes++
	}
	if m.db.onePrimary && m.db.leader == m.pod {
		if answer := m.db.handOver(m, r.GetKeepWrites()); answer != nil {
			m.drain, m.claim = answer.GetState(), r.GetClaim()
			return answer, nil
		}
	}
	m.db.applied[r.GetClaim()] = string(m.uid)
	if r.GetKind() == rollcallv1.DrainKind_DRAIN_KIND_EVACUATE {
		m.db.excluded[m.pod] = r.GetClaim()
	}
	m.drain, m.claim = rollcallv1.Drain_DRAIN_DRAINED, r.GetClaim()
	if m.db.leader == m.pod {
		for _, name := range slices.Sorted(keys(m.db.members)) {
			if other := m.db.members[name]; other != m && other.live && m.db.mayLead(other) {
				m.db.leader = name
				break
			}
		}
	}
	m.db.told()
	return &rollcallv1.DrainResponse{State: rollcallv1.Drain_DRAIN_DRAINED}, nil
}

// strandedPod is the pod in which nothing runs that an order is about, or none. mu is held.
func (m *member) strandedPod(r ordered) string {
	for pod, uid := range m.db.stranded {
		if string(uid) == r.GetPodUid() && m.db.node(pod) == r.GetNode() {
			return pod
		}
	}
	return ""
}

// node is the name that the database has for a pod.
func (db *database) node(pod string) string {
	if db.engine == model.FoundationDB {
		return pod
	}
	return pod + ":8983_solr"
}

// awake waits for as long as the database hangs.
func (m *member) awake(ctx context.Context) error {
	m.db.w.mu.Lock()
	hung := m.db.hung
	m.db.w.mu.Unlock()
	if hung {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (m *member) RestoreSetting(ctx context.Context, r *rollcallv1.RestoreSettingRequest) (*rollcallv1.RestoreSettingResponse, error) {
	if err := m.awake(ctx); err != nil {
		return nil, err
	}
	m.db.w.mu.Lock()
	defer m.db.w.mu.Unlock()
	if m.db.old == m.pod {
		return nil, grpcstatus.Error(codes.Unimplemented, "unknown method RestoreSetting")
	}
	if err := m.inTime(r.GetTerm()); err != nil {
		return nil, err
	}
	m.db.allocation = string(r.GetSettingUndo())
	return &rollcallv1.RestoreSettingResponse{Done: true}, nil
}

func (m *member) Restore(ctx context.Context, r *rollcallv1.RestoreRequest) (*rollcallv1.RestoreResponse, error) {
	if err := m.awake(ctx); err != nil {
		return nil, err
	}
	m.db.w.mu.Lock()
	defer m.db.w.mu.Unlock()
	delete(m.db.applied, string(r.GetUndo()))
	maps.DeleteFunc(m.db.excluded, func(_, claim string) bool { return claim == r.GetClaim() })
	if m.claim == r.GetClaim() {
		m.drain, m.claim = rollcallv1.Drain_DRAIN_NONE, ""
	}
	m.db.told()
	return &rollcallv1.RestoreResponse{Done: true}, nil
}
