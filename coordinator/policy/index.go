package policy

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// index is a snapshot with everything joined that a decision asks for more
// than once. It shares memory with the snapshot and writes none of it.
//
// Pods are in one canonical order (pools as listed, ordinals descending), and
// groups by id, whatever the order in the snapshot; every loop below runs over
// these, so that no answer can depend on the input's order.
type index struct {
	s    *model.Snapshot
	now  time.Time
	spec model.Spec

	pools   []pool
	pods    []pod
	byName  map[string]int32
	groups  []group
	hosted  []int32 // where each member is, group by group
	onDuty  []bool  // by pod: its copies are counted on, and it is not chosen
	nodes   map[string]*model.Node
	claims  map[string]*model.Claim
	own     *model.Claim // of the pod that is asked about again
	desired int          // pods of all pools

	// guards: Kubernetes refuses to remove a pod whose guard is closed.
	guards bool
	// noAgents: there are pods and none has an agent, so Ready has to stand for
	// live, and pods go one at a time.
	noAgents bool
	// soak is how long a pod must be settled to be back.
	soak time.Duration
	// dead: no pod is live in the database.
	dead bool
	// replaceAt is when the next pod will have been failing for too long, else zero.
	replaceAt time.Time
}

// pool is a Pool with what was counted in it.
type pool struct {
	*model.Pool
	shutdown bool // meant and announced
	byLine   bool // RollingUpdate, driven by its partition
}

// pod is a Pod, or the place of a desired one that nothing is known of, with
// what was joined to it.
type pod struct {
	*model.Pod
	pool    *pool
	poolPos int32
	at      int32 // its place in the index
	desired bool
	claim   *model.Claim
	zone    string
	unit    unitKey
	report  *model.Report // of this very pod, else nil
	rank    int           // the lowest while nothing is known; of one below a line see rankByLine
	last    bool          // goes last

	live      bool
	mayLive   bool // nothing shows that it is not live
	away      bool // not counted on, and charged to the budget
	awayWhy   string
	notInTime bool      // live, and not Ready in time
	serves    bool      // away only because its controller may take it
	soakTill  time.Time // when it stops being away, if soaking is all that is missing

	counted bool // live, and nothing takes it away: its copies are counted on
	tally
	hosts []hosting
	// Its groups have one among them that is on this pod alone, or that is being
	// moved, so that most rules need not go through them.
	alone, moving bool
}

// tally is what was counted of a pod's members. It is small, since it is
// written for each of them.
type tally struct {
	leaders, busy, members int32
	kinds                  uint8 // of its groups
	recovering             bool  // a member is, or may be
}

// hosting is what one pod has of one group.
type hosting struct {
	group                                           int32
	total, notDown, available, eligible, recovering int32
	maybe                                           int32 // state unknown
}

// group is a Group with what was counted in it. It is small, since members ask
// for their groups in an order in which every group is a far one.
type group struct {
	*model.Group
	domains *domains // nil: each member fails by itself, and members are counted
	from    int32    // where its members begin in index.hosted
	total   int32
	// available and eligible members on pods that are counted on and not chosen, or
	// hosted elsewhere.
	available, eligible int32
	leaders             int32 // Active members that lead
	claimants           int32 // members that say they lead and are not known to be down
	pods                int32 // pods that host a member, elsewhere counting as one
	limit               int32 // members that may be unavailable
	least               int32 // members that must stay available
	kind                uint8 // its kindBit
}

func newIndex(s *model.Snapshot, ownClaim string) *index {
	x := &index{s: s, now: s.Now.Time, spec: s.Cluster.SpecWithDefaults()}
	x.guards = x.spec.Guard == model.GuardEnforce && s.Cluster.GuardEnforcing
	x.addPools()
	x.addClaims(ownClaim)
	x.addNodes()
	x.addPods()
	x.judgePods()
	x.dead = x.nobodyLive()
	x.addGroups()
	x.hearContradictions()
	return x
}

func (x *index) addPools() {
	x.pools = make([]pool, 0, len(x.s.Pools))
	for i := range x.s.Pools {
		p := &x.s.Pools[i]
		x.pools = append(x.pools, pool{
			Pool: p, shutdown: endsAtNone(p) && p.AllowShutdown,
			byLine: p.Strategy == model.RollingUpdateStrategy && x.spec.Update.RollingUpdate == model.ByPartition,
		})
		if p.Replicas > 0 && p.Replicas <= model.MaxReplicas {
			x.desired += int(p.Replicas)
		}
	}
}

// addClaims leaves out the claim of the pod that is asked about again.
func (x *index) addClaims(own string) {
	x.claims = make(map[string]*model.Claim, len(x.s.Cluster.Status.Claims))
	for i := range x.s.Cluster.Status.Claims {
		c := &x.s.Cluster.Status.Claims[i]
		if c.Pod == own && own != "" {
			x.own = c
			continue
		}
		if _, twice := x.claims[c.Pod]; !twice {
			x.claims[c.Pod] = c
		}
	}
}

func (x *index) addNodes() {
	x.nodes = make(map[string]*model.Node, len(x.s.Nodes))
	for i := range x.s.Nodes {
		x.nodes[x.s.Nodes[i].Name] = &x.s.Nodes[i]
	}
}

// addPods lists the pods, adds the desired ones that the snapshot does not
// have as Missing, and puts them into their order.
func (x *index) addPods() {
	positions := make(map[string]int32, len(x.pools))
	for i := range x.pools {
		if _, twice := positions[x.pools[i].Name]; !twice {
			positions[x.pools[i].Name] = int32(i)
		}
	}
	list := make([]entrant, 0, max(len(x.s.Pods), x.desired))
	present := make([]int32, len(x.pools)) // desired ordinals that have an entry
	for i := range x.s.Pods {
		p := &x.s.Pods[i]
		position, ok := positions[p.Pool]
		if !ok {
			continue // bad-input says so
		}
		present[position] += int32(count(isDesired(x.pools[position].Pool, p.Ordinal)))
		list = append(list, entrant{p, position, p.Ordinal})
	}
	for i := range x.pools {
		if x.pools[i].Replicas <= model.MaxReplicas && present[i] < x.pools[i].Replicas {
			list = x.addMissing(list, int32(i))
		}
	}
	if !slices.IsSortedFunc(list, entrant.compare) {
		slices.SortFunc(list, entrant.compare)
	}
	x.pods = make([]pod, len(list))
	x.byName = make(map[string]int32, len(x.pods))
	there, agents := 0, 0
	for i, e := range list {
		p := &x.pods[i]
		p.Pod, p.poolPos, p.pool = e.Pod, e.poolPos, &x.pools[e.poolPos]
		p.desired = isDesired(p.pool.Pool, p.Ordinal)
		if _, twice := x.byName[p.Name]; !twice {
			x.byName[p.Name] = int32(i)
		}
		there += count(p.Phase != model.Missing)
		agents += count(p.Phase != model.Missing && p.Agent)
	}
	x.noAgents = there > 0 && agents == 0
	if x.noAgents {
		x.spec.Policy.Unit = model.UnitPod // one at a time, or no unit could ever go
	}
}

// entrant is a pod that is to be indexed, with what orders it.
type entrant struct {
	*model.Pod
	poolPos, ordinal int32
}

// compare orders pods when nothing else does: pools as listed, higher ordinals
// first, as numbers; the UID and the name decide between entries that claim to
// be the same pod.
func (a entrant) compare(b entrant) int {
	if c := cmp.Compare(a.poolPos, b.poolPos); c != 0 {
		return c
	}
	if c := cmp.Compare(b.ordinal, a.ordinal); c != 0 {
		return c
	}
	if c := strings.Compare(a.UID, b.UID); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

func isDesired(p *model.Pool, ordinal int32) bool {
	return ordinal >= p.Start && int64(ordinal) < int64(p.Start)+int64(p.Replicas)
}

// addMissing adds the desired ordinals of a pool that have no entry.
func (x *index) addMissing(list []entrant, position int32) []entrant {
	p := &x.pools[position]
	have := make(map[int32]bool, p.Replicas)
	for _, e := range list {
		if e.poolPos == position {
			have[e.ordinal] = true
		}
	}
	for n := range p.Replicas {
		ordinal := p.Start + n
		if have[ordinal] {
			continue
		}
		absent := &model.Pod{Name: p.Name + "-" + strconv.Itoa(int(ordinal)), Pool: p.Name, Ordinal: ordinal, Phase: model.Missing}
		list = append(list, entrant{absent, position, ordinal})
	}
	return list
}

// leastAdoptionSoak is how long, at least, an adopted pod must have been Ready
// before the next goes while nobody can say how the database is.
const leastAdoptionSoak = 30 * time.Second

func (x *index) judgePods() {
	x.soak = span(x.spec.Policy.SoakSeconds)
	if x.noAgents {
		x.soak = max(x.soak, leastAdoptionSoak)
	}
	x.onDuty = make([]bool, len(x.pods))
	above := slices.Repeat([]int{math.MinInt}, len(x.pools))
	for i := range x.pods {
		p := &x.pods[i]
		p.at = int32(i)
		p.claim = x.claims[p.Name]
		p.zone = x.zoneOf(p)
		p.unit = x.unitOf(p)
		if r := p.Report; r != nil && (r.UID == "" || p.UID == "" || r.UID == p.UID) {
			p.report, p.rank, p.last = r, r.Rank, r.Last
		}
		p.rankByLine(&above[p.poolPos])
		p.live = x.isLive(p)
		p.mayLive = runs(p.Phase) && !x.deniesLive(p) && x.whyBroken(p) == ""
		p.awayWhy = x.whyAbsent(p)
		p.counted = p.awayWhy == ""
		p.away = !p.counted && (p.desired || p.claim != nil)
		p.notInTime = p.away && x.standsUnready(p)
		x.onDuty[i] = p.counted
	}
}

func (x *index) zoneOf(p *pod) string {
	if p.Zone != "" {
		return p.Zone
	}
	if n := x.nodes[p.Node]; n != nil && p.Node != "" && n.Zone != "" {
		return n.Zone
	}
	if p.claim != nil {
		return p.claim.Zone
	}
	return ""
}

// isLive: the database has it as a member, and there is a process that could be one.
func (x *index) isLive(p *pod) bool {
	if !runs(p.Phase) {
		return false
	}
	if p.report != nil {
		return p.report.Member == model.Live
	}
	return x.noAgents && p.Phase == model.Ready
}

// runs: there is a process that could be a member of the database.
func runs(p model.PodPhase) bool {
	return p == model.Started || p == model.Ready || p == model.Terminating
}

// deniesLive: somebody who knows says, and has for as long as a start may take, that
// the database does not have it as a member. What was said before the last action does
// not count, and no word at all is no evidence.
func (x *index) deniesLive(p *pod) bool {
	r := p.report
	return r != nil && r.Member == model.NotLive && r.Fresh && x.forLong(r)
}

// mayServe: it is away only because nobody knows whether it is live, because it
// has not served for long enough, or because Kubernetes has not found it Ready
// yet; so it may well be there, and all like it at once would take more than the
// budget. One that Kubernetes does not find Ready in time does not wait for others that are away.
func (x *index) mayServe(p *pod) bool {
	switch {
	case !p.away || p.claim != nil:
		return false
	case x.nodeGone(p):
		return p.mayLive && p.report != nil // all but Kubernetes may see it
	}
	return x.comesBack(p) || p.Phase == model.Ready && (p.mayLive && !p.live || !p.soakTill.IsZero() && !x.noAgents)
}

// comesBack: it has started, nothing shows that it is not live, and it has time to be
// Ready. While there are no agents nothing ever shows that.
func (x *index) comesBack(p *pod) bool {
	return p.Phase == model.Started && (p.live || p.mayLive && !x.noAgents) && !x.overdue(p)
}

// hearContradictions: a pod says that it is no member, and others that what is on it is
// Active. While somebody is live who may be right, nothing shows that it is not.
func (x *index) hearContradictions() {
	for i := range x.pods {
		if p := &x.pods[i]; !x.dead && runs(p.Phase) && x.deniesLive(p) && !loops(p.Problem) && !takesNothing(p, false) {
			p.mayLive = true
		}
	}
}

// nodeGone: what runs on it, runs unseen.
func (x *index) nodeGone(p *pod) bool {
	n := x.nodes[p.Node]
	return p.Problem == model.NodeGone || n != nil && p.Node != "" && n.Gone
}
