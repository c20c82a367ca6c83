package status

// Verdict is what a decision means for one pod.
type Verdict string

// The verdicts.
const (
	// Go: the pod may go now.
	Go Verdict = "Go"
	// Hold: the pod should go and may not.
	Hold Verdict = "Hold"
	// Claimed: the pod is on its way.
	Claimed Verdict = "Claimed"
	// UpToDate: nothing asks the pod to go.
	UpToDate Verdict = "UpToDate"
)
