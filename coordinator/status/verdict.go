package status

import "fmt"

// Verdict is what a decision means for one pod.
type Verdict int

// The verdicts.
const (
	VerdictUnknown Verdict = iota
	// Go: the pod may go now.
	Go
	// Hold: the pod should go and may not.
	Hold
	// Claimed: the pod is on its way.
	Claimed
	// UpToDate: nothing asks the pod to go.
	UpToDate
)

var verdicts = [...]string{"Unknown", "Go", "Hold", "Claimed", "UpToDate"}

// String is the name in the published formats.
func (v Verdict) String() string {
	if v < 0 || int(v) >= len(verdicts) {
		return fmt.Sprintf("Verdict(%d)", int(v))
	}
	return verdicts[v]
}

// MarshalText writes the name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the name.
func (v *Verdict) UnmarshalText(text []byte) error {
	for i, name := range verdicts {
		if name == string(text) {
			*v = Verdict(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not a verdict: Go, Hold, Claimed or UpToDate is wanted", text)
}
