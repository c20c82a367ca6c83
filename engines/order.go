package engines

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrOrder means that the order itself is invalid.
	ErrOrder = errors.New("order is not valid")
	// ErrTooLate means that a write was due after Order.NotAfter.
	ErrTooLate = errors.New("too late to start a change")
)

// Check returns an error if the order is invalid for an adapter that evacuates only the local node.
func (o Order) Check() error {
	if o.Node != "" && o.Kind == Evacuate {
		return fmt.Errorf("%w: node %s: another node can only be handed over, not emptied", ErrOrder, OneLine(o.Node))
	}
	return o.CheckAny()
}

// CheckAny is Check for an adapter that can also evacuate other nodes.
func (o Order) CheckAny() error {
	if o.Kind != Handoff && o.Kind != Evacuate {
		return fmt.Errorf("%w: kind %s: must be Handoff or Evacuate", ErrOrder, o.Kind)
	}
	return CheckClaim(o.Claim)
}

// Subject returns the node that the order is about, for an agent on the local node.
func (o Order) Subject(local string) string { return cmp.Or(o.Node, local) }

// CheckClaim returns an error if the claim is not fit to be part of marks and names in the
// database.
func CheckClaim(claim string) error {
	if claim == "" || len(claim) > 200 {
		return fmt.Errorf("%w: claim %q: must be 1 to 200 characters", ErrOrder, OneLine(claim))
	}
	for _, r := range claim {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:", r)) {
			return fmt.Errorf("%w: claim %q: must be letters, digits and -_.: only", ErrOrder, OneLine(claim))
		}
	}
	return nil
}

// InTime returns ErrTooLate if notAfter has passed. Zero means no limit.
func InTime(notAfter time.Time) error {
	if !notAfter.IsZero() && time.Now().After(notAfter) {
		return ErrTooLate
	}
	return nil
}
