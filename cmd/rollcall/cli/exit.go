package cli

// Exit statuses. Those of status --wait and of plan --snapshot are part of the
// program's contract.
const (
	ExitDone         = 0
	ExitFailed       = 1
	ExitNotASnapshot = 2
	ExitStalled      = 2
	ExitFindings     = 2 // the doctor found an error
	ExitTimedOut     = 3
)

// ExitError ends the program with a status of its own.
type ExitError struct {
	Status int
	err    error
}

// Exit ends the program with a status and a reason.
func Exit(status int, err error) error { return &ExitError{status, err} }

func (e *ExitError) Error() string { return e.err.Error() }
func (e *ExitError) Unwrap() error { return e.err }
