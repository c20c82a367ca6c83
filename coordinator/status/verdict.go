package status

// Verdict is what a decision means for one pod.
type Verdict string

// The verdicts.
const (
	// VerdictGo means that the pod may go now.
	VerdictGo Verdict = "Go"
	// VerdictHold means that the pod should go and may not.
	VerdictHold Verdict = "Hold"
	// VerdictClaimed means that the pod is claimed.
	VerdictClaimed Verdict = "Claimed"
	// VerdictUpToDate means that the pod does not have to go.
	VerdictUpToDate Verdict = "UpToDate"
)
