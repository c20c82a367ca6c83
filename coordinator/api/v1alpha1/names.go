package v1alpha1

// Labels and annotations that Rollcall reads or writes.
const (
	// LabelCluster on a StatefulSet and in its pod template names the
	// DatabaseCluster of the same namespace that it belongs to. On a Secret it names the
	// DatabaseCluster that may use it, or several with dots between them.
	LabelCluster = "rollcall.dev/cluster"
	// LabelGuard on a pod says whether Kubernetes refuses to remove it.
	LabelGuard = "rollcall.dev/guard"
	// LabelGuardCluster on a pod with a guard names the DatabaseCluster to which
	// the guard belongs. The cluster's PodDisruptionBudget selects by it, because
	// pods from before Rollcall have no LabelCluster.
	LabelGuardCluster = "rollcall.dev/guard-cluster"
	// LabelRole on a pod of a database with one primary says what the pod's member is: RolePrimary
	// or RoleReplica. Services select by it. At most one pod of a database has RolePrimary.
	LabelRole = "rollcall.dev/role"

	// AnnotationClaim on a pod is the id of the claim under which it goes.
	AnnotationClaim = "rollcall.dev/claim"
	// AnnotationGossipFrom on the Service of the agents says from where they take gossip, in words.
	AnnotationGossipFrom = "rollcall.dev/gossip-from"
	// AnnotationUnit on a pod or StatefulSet names what goes together.
	AnnotationUnit = "rollcall.dev/unit"
	// AnnotationReplace on a pod asks for its replacement: the time at which it was
	// asked for, or ReplaceNever, which keeps the pod from being replaced because it fails.
	AnnotationReplace = "rollcall.dev/replace"
	// AnnotationRestart on a DatabaseCluster asks for a restart of all its pods that
	// are older than the time that it names; on a pod, with any value, for that of the pod.
	AnnotationRestart = "rollcall.dev/restart"
	// AnnotationPaused on a StatefulSet or DatabaseCluster, when "true", pauses.
	AnnotationPaused = "rollcall.dev/paused"
	// AnnotationForce on a StatefulSet, when "true", lets Kubernetes roll it.
	AnnotationForce = "rollcall.dev/force-rolling-update"
	// AnnotationPartition on a StatefulSet notes the partition that was last written
	// by a coordinator; another value of the field is somebody else's.
	AnnotationPartition = "rollcall.dev/partition"
	// AnnotationAllowShutdown on a StatefulSet, when "true", makes a scale to 0 a shutdown.
	AnnotationAllowShutdown = "rollcall.dev/allow-shutdown"

	// AnnotationContainer on a pod template names the database's container.
	// Default: the first container.
	AnnotationContainer = "rollcall.dev/container"
	// AnnotationCredentialsSecret on a pod template names the Secret with the
	// username and password that the agent uses. Default: what the
	// DatabaseCluster says, and where that is unknown CredentialsSecretName.
	AnnotationCredentialsSecret = "rollcall.dev/credentials-secret"
	// AnnotationAllowHosts on a Secret with credentials names the hosts, with commas
	// between them, to which agents may connect beside their own pod: host, at the usual
	// port, or host:port.
	AnnotationAllowHosts = "rollcall.dev/allow-hosts"
	// AnnotationPreStop on a pod template says what becomes of a preStop hook
	// that the database's container already has: PreStopChain or PreStopKeep.
	AnnotationPreStop = "rollcall.dev/prestop"
	// AnnotationGuardExpired on a PodDisruptionBudget of Rollcall and on the
	// binding of its admission policy is since when they refuse nothing, because no
	// coordinator was there for too long.
	AnnotationGuardExpired = "rollcall.dev/guard-expired"
	// AnnotationInjection on a pod is what the webhook could not do for it, in words.
	AnnotationInjection = "rollcall.dev/injection"
)

// Values of LabelGuard.
const (
	GuardClosed = "closed"
	GuardOpen   = "open"
	GuardAudit  = "audit"
)

// Values of LabelRole. A pod of which neither is known has no such label.
const (
	RolePrimary = "primary"
	RoleReplica = "replica"
)

// ReplaceNever is a value of AnnotationReplace: somebody makes the pod fail on purpose.
const ReplaceNever = "never"

// Values of AnnotationPreStop.
const (
	// PreStopChain runs the agent's stop hook and then the hook that was there.
	// Only for exec hooks in an image that has /bin/sh and curl or wget.
	PreStopChain = "chain"
	// PreStopKeep keeps the hook that was there and does without the agent's:
	// a pod that goes by other hands than Rollcall's is then not handed off.
	PreStopKeep = "keep"
)

// AgentContainer is the name of the sidecar that injection adds.
const AgentContainer = "rollcall-agent"

// CredentialsVolume is the name of the volume with the agent's username and password.
const CredentialsVolume = "rollcall-credentials"

// Finalizer is on a DatabaseCluster only while it has an open claim.
const Finalizer = "rollcall.dev/claims"

// DerivedName is the name of the Service, of the Secret and of the
// PodDisruptionBudget that belong to the DatabaseCluster name.
func DerivedName(name string) string { return name + "-rollcall" }

// GuardPolicy is the name of the ValidatingAdmissionPolicy that refuses to delete
// pods whose guard is closed, and of its binding.
const GuardPolicy = "rollcall-guard"

// CredentialsSecretName is the Secret that agents of the DatabaseCluster name
// look for where none was named when their pods were made.
func CredentialsSecretName(name string) string { return name + "-rollcall-credentials" }

// CredentialsSecretOf is the Secret that a DatabaseCluster names for its agents.
func CredentialsSecretOf(cluster *DatabaseCluster) string {
	if name := cluster.Spec.Connection.CredentialsSecret; name != "" {
		return name
	}
	return CredentialsSecretName(cluster.Name)
}
