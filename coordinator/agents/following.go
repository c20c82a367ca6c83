package agents

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/agent/config"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Key names a DatabaseCluster.
type Key = types.NamespacedName

// Target is a pod that has an agent.
type Target struct {
	Pod string
	UID string
	// IP is empty while the pod has none. Then its agent is not asked.
	IP string
	// Zone is empty when unknown.
	Zone string
}

// Following says what to hold for one cluster.
type Following struct {
	// ClusterUID is that of the DatabaseCluster.
	ClusterUID string
	Agents     []Target
	// Reports is true if a report stream to every agent is held, which is needed while there is
	// work. Without it an idle cluster costs only a few roster streams.
	Reports bool
	// AllGroups is true if the agents are asked for all groups that the databases know, because
	// some pod has no agent of its own.
	AllGroups bool
}

// Received is a report and its time.
type Received struct {
	Report *rollcallv1.Report
	// At is a time by this process's clock before which the observation had not begun. It is zero
	// if not known.
	At time.Time
}

// ReceivedRoster is a roster and when it arrived.
type ReceivedRoster struct {
	// Pod and UID are those of the agent that sent it.
	Pod, UID string
	Roster   *rollcallv1.Roster
	At       time.Time
}

// State is what the agents of one cluster said last. The messages are shared and
// must not be changed.
type State struct {
	// Reports by pod UID.
	Reports map[string]Received
	Rosters []ReceivedRoster
	// Problems says by pod UID why there is no stream where there should be one.
	Problems map[string]string
	// Refused says by pod UID why the agent's last message was not accepted.
	Refused map[string]string
	// Skews says by pod UID by how much the wall clock of the agent's node is ahead of ours, or
	// behind, in whole seconds, if that is worth reporting.
	Skews map[string]time.Duration
}

// Epoch returns the highest fence that any agent is known to have seen, within limits: one agent,
// or one stolen gossip key, cannot use up the epochs.
func (s State) Epoch() int64 {
	var highest int64
	for _, r := range s.Reports {
		highest = max(highest, config.HeardEpoch(r.Report.GetEpoch()))
	}
	for _, r := range s.Rosters {
		for _, e := range r.Roster.GetEntries() {
			highest = max(highest, config.HeardEpoch(e.GetHeadline().GetEpoch()))
		}
	}
	return highest
}

// witnesses picks up to n agents whose rosters are worth following: reachable ones first, and from
// as many zones as possible. The choice depends only on the targets, not on their order, so it is
// stable.
func witnesses(targets []Target, failing func(Target) bool, n int) []Target {
	rest := slices.DeleteFunc(slices.Clone(targets), func(t Target) bool { return t.IP == "" })
	slices.SortFunc(rest, func(a, b Target) int {
		if f := failing(a); f != failing(b) {
			if f {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.UID, b.UID))
	})
	var chosen []Target
	zones := map[string]bool{}
	for _, again := range []bool{false, true} {
		for _, t := range rest {
			taken := slices.ContainsFunc(chosen, func(c Target) bool { return c.UID == t.UID })
			if len(chosen) < n && !taken && (again || !zones[t.Zone] && !failing(t)) {
				chosen = append(chosen, t)
				zones[t.Zone] = true
			}
		}
	}
	return chosen
}
