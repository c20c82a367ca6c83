package cluster

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Pod is a model.Pod, or the place of a desired one that is not known, with what was joined to it.
type Pod struct {
	*model.Pod
	OwnPool   *Pool
	PoolPos   int32
	At        int32 // its place in the index
	Desired   bool
	Claim     *model.Claim
	OwnZone   string
	OwnUnit   Unit
	OwnReport *model.Report // of this very pod, else nil
	Rank      int           // the lowest if it is not known; for a pod below a partition see rankByPartition
	Last      bool          // goes last

	Live              bool
	MayLive           bool // nothing shows that it is not live
	Unavailable       bool // not counted on, and counts in the budget
	UnavailableReason string
	NotInTime         bool      // live, and not Ready in time
	Serves            bool      // unavailable only because its controller may update it
	SoakTill          time.Time // when it stops being unavailable, if soaking is all that is missing

	Counted bool // live, and nothing makes it unavailable: its copies are counted on
	tally
	Hosts []Hosting
	// Alone means that one of its groups is on this pod alone, Moving that one is being moved. Most
	// rules then do not have to go through the groups.
	Alone, Moving bool
}

// tally is what was counted of a pod's members. It is small, because it is written for each of
// them.
type tally struct {
	Leaders, Busy, Members int32
	Kinds                  uint8 // of its groups
	Recovering             bool  // a member is, or may be
}

// Hosting is what one pod has of one group.
type Hosting struct {
	Group                                           int32
	Total, NotDown, available, Eligible, Recovering int32
	Maybe                                           int32 // state unknown
}

// addPods lists the pods, adds the desired ones that the snapshot does not
// have as Missing, and puts them into their order.
func (x *Index) addPods() {
	positions := make(map[string]int32, len(x.Pools))
	for i := range x.Pools {
		if _, twice := positions[x.Pools[i].Name]; !twice {
			positions[x.Pools[i].Name] = int32(i)
		}
	}
	list := make([]entrant, 0, max(len(x.Snapshot.Pods), x.Desired))
	present := make([]int32, len(x.Pools)) // desired ordinals that have an entry
	for i := range x.Snapshot.Pods {
		p := &x.Snapshot.Pods[i]
		position, ok := positions[p.Pool]
		if !ok {
			continue // bad-input reports it
		}
		present[position] += int32(Count(isDesired(x.Pools[position].Pool, p.Ordinal)))
		list = append(list, entrant{p, position, p.Ordinal})
	}
	for i := range x.Pools {
		if x.Pools[i].Replicas <= model.MaxReplicas && present[i] < x.Pools[i].Replicas {
			list = x.addMissing(list, int32(i))
		}
	}
	if !slices.IsSortedFunc(list, entrant.compare) {
		slices.SortFunc(list, entrant.compare)
	}
	x.Pods = make([]Pod, len(list))
	x.ByName = make(map[string]int32, len(x.Pods))
	there, agents := 0, 0
	for i, e := range list {
		p := &x.Pods[i]
		p.Pod, p.PoolPos, p.OwnPool = e.Pod, e.poolPos, &x.Pools[e.poolPos]
		p.Desired = isDesired(p.OwnPool.Pool, p.Ordinal)
		if _, twice := x.ByName[p.Name]; !twice {
			x.ByName[p.Name] = int32(i)
		}
		there += Count(p.Phase != model.PodPhaseMissing)
		agents += Count(p.Phase != model.PodPhaseMissing && p.Agent)
	}
	x.NoAgents = there > 0 && agents == 0
	x.OneByOne = x.NoAgents || x.InPlace
	if x.OneByOne {
		x.Spec.Policy.Unit = model.UnitPod // one at a time, or no unit could ever go
	}
}

// entrant is a pod that is to be indexed, with what orders it.
type entrant struct {
	*model.Pod
	poolPos, ordinal int32
}

// compare orders pods when nothing else does: pools as listed, higher ordinals first. The UID and
// the name decide between entries that claim to be the same pod.
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
func (x *Index) addMissing(list []entrant, position int32) []entrant {
	p := &x.Pools[position]
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
		absent := &model.Pod{Name: p.Name + "-" + strconv.Itoa(int(ordinal)), Pool: p.Name, Ordinal: ordinal, Phase: model.PodPhaseMissing}
		list = append(list, entrant{absent, position, ordinal})
	}
	return list
}

// leastAdoptionSoak is how long, at least, an adopted pod must have been Ready before the next goes
// while nobody can say how the database is.
const leastAdoptionSoak = 30 * time.Second

func (x *Index) judgePods() {
	x.Soak = Span(x.Spec.Policy.SoakSeconds)
	if x.OneByOne {
		x.Soak = max(x.Soak, leastAdoptionSoak)
	}
	x.OnDuty = make([]bool, len(x.Pods))
	above := slices.Repeat([]int{math.MinInt}, len(x.Pools))
	for i := range x.Pods {
		p := &x.Pods[i]
		p.At = int32(i)
		p.Claim = x.Claims[p.Name]
		p.OwnZone = x.zoneOf(p)
		p.OwnUnit = x.unitOf(p)
		if r := p.Report; r != nil && (r.UID == "" || p.UID == "" || r.UID == p.UID) {
			p.OwnReport, p.Rank, p.Last = r, r.Rank, r.Last
		}
		p.rankByPartition(&above[p.PoolPos])
		p.Live = x.isLive(p)
		p.MayLive = runs(p.Phase) && !x.deniesLive(p) && x.FailureReason(p) == ""
		p.UnavailableReason = x.whyUnavailable(p)
		p.Counted = p.UnavailableReason == ""
		p.Unavailable = !p.Counted && (p.Desired || p.Claim != nil)
		p.NotInTime = p.Unavailable && x.StandsUnready(p)
		x.OnDuty[i] = p.Counted
	}
}

func (x *Index) zoneOf(p *Pod) string {
	if p.Zone != "" {
		return p.Zone
	}
	if n := x.nodes[p.Node]; n != nil && p.Node != "" && n.Zone != "" {
		return n.Zone
	}
	if p.Claim != nil {
		return p.Claim.Zone
	}
	return ""
}

// rankByPartition gives a pod that the partition frees only after others the rank of those. With a
// lower rank, which an unknown pod has as well, it would hold up the pods that it waits for.
func (p *Pod) rankByPartition(above *int) {
	if p.OwnPool.ByPartition && p.Desired && IsOutdated(p) && p.Ordinal < p.OwnPool.Partition {
		*above = max(*above, p.Rank)
		p.Rank = *above
	}
}
