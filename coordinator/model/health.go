package model

// Health is the verdict about the database as a whole.
type Health struct {
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"`
	// Disagree says in which way the witnesses contradict each other; empty = they do not.
	Disagree string `json:"disagree"`
}

// Verdict is a verdict about the database. Default: Green.
type Verdict string

// The verdicts. Recoverable means that copies are missing only for reasons
// that a node's return or upgrade ends.
const (
	VerdictGreen       Verdict = "Green"
	VerdictRecoverable Verdict = "Recoverable"
	VerdictYellow      Verdict = "Yellow"
	VerdictRed         Verdict = "Red"
	VerdictUnknown     Verdict = "Unknown"
)
