package status

// Verdict is what a decision means for one pod.
type Verdict string

// The verdicts.
const (
	// VerdictGo: the pod may go now.
	VerdictGo Verdict = "Go"
	// VerdictHold: the pod should go and may not.
	VerdictHold Verdict = "Hold"
	// VerdictClaimed: the pod is on its way.
	VerdictClaimed Verdict = "Claimed"
	// VerdictUpToDate: nothing asks the pod to go.
	VerdictUpToDate Verdict = "UpToDate"
)
