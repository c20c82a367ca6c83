package oracle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
)

// Exception is a removal for which not all invariants are checked. Its condition is true in the
// world; nothing that Rollcall says is part of it.
type Exception struct {
	Name string
	// Says is the sentence of a document that allows it.
	Document, Says string
	// Skips are the invariants that are not checked.
	Skips []string

	is func(o *Oracle, pod *corev1.Pod) bool
}

// Exceptions are all of them.
var Exceptions = []Exception{
	{
		Name:     "it cannot come back by itself, and nothing on it is alive",
		Document: "deploy/docs/concepts.md",
		Says:     "A pod that is broken already, and takes nothing away by going, does not wait for the budget",
		Skips:    []string{"I1", "I2", "I3", "I7", "I8", "I9", "I10"},
		is:       func(o *Oracle, pod *corev1.Pod) bool { return o.broken(pod) && o.hostsNothing(pod.Name) },
	},
	{
		Name:     "a person has approved of an outage",
		Document: "deploy/docs/foundationdb.md",
		Says:     "`policy.unit: All` it is done at once, which asks for `kubectl rollcall approve fdb --what outage`",
		Skips:    []string{"I1", "I2", "I3", "I8", pods},
		is:       func(o *Oracle, _ *corev1.Pod) bool { return o.outage },
	},
	{
		Name:     "nobody has to have copies in an outage of which a person has approved",
		Document: "deploy/docs/policy.md",
		Says:     "all Down; or in a shutdown or an outage.",
		Skips:    []string{others},
		is:       func(o *Oracle, _ *corev1.Pod) bool { return o.outage },
	},
	{
		Name:     "it has no agent that could move its data",
		Document: "deploy/docs/policy.md",
		Says:     "or without an agent: None",
		Skips:    []string{"V3"},
		is:       func(_ *Oracle, pod *corev1.Pod) bool { return len(pod.Spec.InitContainers) == 0 },
	},
	{
		Name:     "a copy on it is broken, and its restart may be all that brings it back",
		Document: "deploy/docs/policy.md",
		Says:     "A copy that stays Down on a live pod is broken, and the restart of its own pod may be all that brings it back.",
		Skips:    []string{"I8"},
		is:       func(o *Oracle, pod *corev1.Pod) bool { return o.db.Ails(pod.Name) },
	},
	{
		Name:     "a copy on it is not back, and nothing has gone on for long",
		Document: "deploy/docs/policy.md",
		Says:     "or the rollout has made no progress for `progressSeconds` (`lastProgress` is known, and at least that long ago), and a member on it is Down or Recovering",
		Skips:    []string{"I8"},
		is: func(o *Oracle, pod *corev1.Pod) bool {
			return o.db.Up(pod.Name) && !o.db.Whole(pod.Name) && o.quietFor() >= progress(o.server.Cluster(o.limits.Cluster))
		},
	},
	{
		Name:     "the partition comes down to a copy that is not back only after it",
		Document: "deploy/docs/policy.md",
		Says:     "the highest of those is asked in its place",
		Skips:    []string{"I8"},
		is:       (*Oracle).beforeABrokenCopy,
	},
	{
		Name:     "the others wait for a canary that nobody has approved of, and its node is to be left",
		Document: "deploy/docs/policy.md",
		Says:     "one within the budget that `canary` holds, when its own node is to be left",
		Skips:    []string{overseers},
		is:       func(o *Oracle, pod *corev1.Pod) bool { return o.toBeLeft(pod) && o.canaryWaits() },
	},
	{
		Name:     "it has no agent that tells of what kind it is",
		Document: "deploy/docs/policy.md",
		Says:     "Without one, rank is 0 and `last` false",
		Skips:    []string{"I8"},
		is:       func(_ *Oracle, pod *corev1.Pod) bool { return len(pod.Spec.InitContainers) == 0 },
	},
	{
		Name:     "a person has switched off that it waits for lower ranks",
		Document: "deploy/docs/policy.md",
		Says:     "An override switches a rule off for the pods that it names",
		Skips:    []string{ofRanks},
		is:       (*Oracle).isUnranked,
	},
	{
		Name:     "no pod has an agent that could tell what only the database shows",
		Document: "deploy/docs/policy.md",
		Says:     "**While there are no agents** nobody can be asked: the unit is Pod, the limit 1, Ready counts as live",
		Skips:    []string{members, primaries},
		is:       func(o *Oracle, _ *corev1.Pod) bool { return o.agentless() },
	},
	{
		Name:     "it, or the one before it, was out of date when it was claimed to be replaced",
		Document: "deploy/docs/policy.md",
		Says:     "That is for good, whatever has become of the cause.",
		Skips:    []string{doomed},
		is: func(o *Oracle, pod *corev1.Pod) bool {
			return o.limits.Replaced && slices.ContainsFunc(o.server.Cluster(o.limits.Cluster).Status.Claims, func(c model.Claim) bool {
				return c.UID == string(pod.UID) && o.meant[c.ID]
			})
		},
	},
	{
		Name:     "somebody else has undone the partition, which cannot go back up yet",
		Document: "deploy/docs/policy.md",
		Says:     "one that is unavailable in any other way keeps the partition where it is, too",
		Skips:    []string{byPartition},
		is:       (*Oracle).leftByOthers,
	},
	{
		Name:     "its database has not been a member for as long as a start may take",
		Document: "deploy/docs/policy.md",
		Says:     "it *says NotLive*, and `report.notLiveSeconds` is at least `startSeconds`",
		Skips:    []string{"I2", pods},
		is:       (*Oracle).longOut,
	},
	{
		Name:     "it is a member and not settled, as its agent tells",
		Document: "deploy/docs/policy.md",
		Says:     "or not `settled`: it may serve clients who do not go by readiness. It waits for none that are unavailable for another cause",
		Skips:    []string{pods},
		is:       (*Oracle).isUnsettled,
	},
	{
		Name:     "its copies have not served for as long as a start may take, and stay on its disk",
		Document: "deploy/docs/policy.md",
		Says:     "The group **asks** nothing of a pod that is denied",
		Skips:    []string{"I1", "I3"},
		is:       (*Oracle).longOutWithCopies,
	},
	{
		Name:     "it has failed with copies that stay on its disk, and its correction waits for no rank",
		Document: "deploy/docs/policy.md",
		Says:     "not asked of a pod outside the budget: a correction always gets through",
		Skips:    []string{ofRanks},
		is:       (*Oracle).longOutWithCopies,
	},
	{
		Name:     "its database does not run, as it has ended again and again, and nothing on it is alive",
		Document: "coordinator/rollout/DESIGN.md",
		Says:     "A pod whose database runs is asked itself before it goes",
		Skips:    []string{itself},
		is:       func(o *Oracle, pod *corev1.Pod) bool { return waitsForAStart(pod) && o.hostsNothing(pod.Name) },
	},
	{
		Name:     "another member of Galera has gone that had no agent, and nobody knows that it was one",
		Document: "deploy/docs/galera.md",
		Says:     "An agent that has just started knows only those",
		Skips:    []string{votes, copies},
		is:       (*Oracle).besideUntold,
	},
	{
		Name:     "it is unavailable already, whoever caused that",
		Document: "coordinator/policy/DESIGN.md",
		Says:     "it is unavailable now, and costs nothing more",
		Skips:    []string{"I2", pods},
		is:       func(o *Oracle, pod *corev1.Pod) bool { return o.wasDown(pod) && !o.willServe(pod.Name) },
	},
}

// Parts of invariants.
const (
	// pods is that of I1 which is about pods, and copies that about copies; members is that of it
	// which is about what only members of the database tell.
	pods   = "I1 of pods"
	copies = "I1 of copies"
	// votes is the part of G1 that is about all votes.
	votes   = "G1 of all votes"
	members = "I1 of what members tell"
	// primaries is that of I8 which is about the primary, ofRanks that which is about ranks.
	primaries = "I8 of the primary"
	ofRanks   = "I8 of ranks"
	// others is that of I10 which is about the looks of other pods, itself that which is about its own.
	others = "I10 of other pods"
	itself = "I10 of the pod itself"
	// overseers is that of I8 which is about the overseer.
	overseers = "I8 of the overseer"
	// doomed is I7 itself, and not the windows that hold for who is well.
	doomed = "I7 of who is well now"
	// byPartition is all of who goes because no partition keeps its controller from it.
	byPartition = "all of whom the partition leaves to its controller"
)

// quietFor returns for how long Rollcall has removed no pod.
func (o *Oracle) quietFor() time.Duration {
	if len(o.gone) == 0 {
		return o.loop.Now()
	}
	return time.Since(o.gone[len(o.gone)-1])
}

// progress is what people call too long without any.
func progress(cluster *v1alpha1.DatabaseCluster) time.Duration {
	return time.Duration(cluster.Spec.Policy.ProgressSeconds) * time.Second
}

// canaryWaits reports whether others go only once a person has approved of the canary, and none
// has, or only just now.
func (o *Oracle) canaryWaits() bool {
	cluster := o.server.Cluster(o.limits.Cluster)
	return cluster.Spec.Update.Canary.Pods > 0 && !slices.ContainsFunc(cluster.Status.Approvals, func(a model.Approval) bool {
		return a.What == model.ApprovedCanary && time.Since(a.At.Time) > shown
	})
}

// asks reports whether an invariant is checked for the removal of a pod.
func (o *Oracle) asks(pod *corev1.Pod, invariant string) bool {
	return !slices.ContainsFunc(Exceptions, func(e Exception) bool { return slices.Contains(e.Skips, invariant) && e.is(o, pod) })
}

// broken reports whether the pod cannot come back by itself, or could not until a moment ago.
func (o *Oracle) broken(pod *corev1.Pod) bool {
	at, was := o.ailed[pod.UID]
	return o.Broken(pod) || was && o.loop.Now()-at <= shown && !o.db.Whole(pod.Name)
}

// longOut reports whether the register has not had the pod for as long as a start may take, when
// the pod was looked at last.
func (o *Oracle) longOut(pod *corev1.Pod) bool {
	cluster := o.server.Cluster(o.limits.Cluster)
	if cluster == nil || cluster.Spec.Policy.StartSeconds == 0 {
		return false
	}
	at, start := o.loop.Now(), time.Duration(cluster.Spec.Policy.StartSeconds)*time.Second
	if since, out := o.unlisted[pod.Name]; out {
		return at-since >= start
	}
	back, again := o.relisted[pod.Name]
	return again && at-back.at <= glance && back.without >= start
}

// isUnsettled reports whether the pod's database is a member, and a copy on it is not back yet.
func (o *Oracle) isUnsettled(pod *corev1.Pod) bool {
	return o.wasDown(pod) && o.hasAgent(pod.Name) && o.db.Serves(pod.Name)
}

// longOutWithCopies reports whether a pod is out for so long, so is each copy that it has, and they
// are not gone with it.
func (o *Oracle) longOutWithCopies(pod *corev1.Pod) bool {
	serves := slices.ContainsFunc(o.db.Truth(), func(s database.Shard) bool {
		return slices.ContainsFunc(s.Copies, func(c database.Copy) bool { return c.Pod == pod.Name && c.Active })
	})
	return o.longOut(pod) && !serves && !o.loses(pod) && !o.limits.Replaced
}

// waitsForAStart reports whether Kubernetes shows that the kubelet lets time pass before it starts
// the database once more.
func waitsForAStart(pod *corev1.Pod) bool {
	return showsDatabase(pod, func(c corev1.ContainerStatus) bool {
		return c.State.Waiting != nil && c.State.Waiting.Reason == "CrashLoopBackOff"
	})
}

// willServe reports whether the pod does not serve and will by itself: it has lost its session, or
// is paused.
func (o *Oracle) willServe(pod string) bool { return o.db.Alive(pod) && !o.db.Whole(pod) }

// hostsNothing reports whether no copy on the pod serves, or will by itself.
func (o *Oracle) hostsNothing(pod string) bool {
	for _, shard := range o.db.Truth() {
		for _, c := range shard.Copies {
			if c.Pod == pod && c.Alive {
				return false
			}
		}
	}
	return true
}
