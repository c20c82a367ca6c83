package engines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrUndo means that the undo bytes are not from an adapter, or not for this order.
var ErrUndo = errors.New("undo bytes are not readable")

// Undo is what PlanDrain returns in adapters that keep the details in the database with a mark. It
// names what to undo.
type Undo struct {
	Version int    `json:"v"`
	Kind    string `json:"kind"` // Kind as text
	Claim   string `json:"claim"`
	Node    string `json:"node"` // that was drained
}

const undoVersion = 1

// UndoOn returns the undo that names the order's work on the node.
func (o Order) UndoOn(node string) Undo {
	return Undo{Version: undoVersion, Kind: o.Kind.String(), Claim: o.Claim, Node: node}
}

// Encode returns the undo as bytes.
func (u Undo) Encode() ([]byte, error) { return json.Marshal(u) }

// ReadUndo decodes at most MaxUndo bytes into a value. It refuses unknown fields and trailing data.
func ReadUndo(data []byte, into any) error {
	if len(data) > MaxUndo {
		return fmt.Errorf("%w: %d bytes: must be at most %d", ErrUndo, len(data), MaxUndo)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", ErrUndo, err)
	}
	if decoder.More() {
		return fmt.Errorf("%w: something follows them", ErrUndo)
	}
	return nil
}

// DecodeUndo decodes the bytes that Encode returned.
func DecodeUndo(data []byte) (Undo, error) {
	var u Undo
	if err := ReadUndo(data, &u); err != nil {
		return u, err
	}
	return u, u.Check()
}

// ClaimOf returns the claim that undo bytes name; empty if they name none.
func ClaimOf(data []byte) string {
	var u struct {
		Claim string `json:"claim"`
	}
	if len(data) > MaxUndo || json.Unmarshal(data, &u) != nil {
		return ""
	}
	return u.Claim
}

// Check returns an error if no adapter could have planned this undo.
func (u Undo) Check() error {
	switch {
	case u.Version != undoVersion:
		return fmt.Errorf("%w: version %d: must be %d", ErrUndo, u.Version, undoVersion)
	case u.Kind != Handoff.String() && u.Kind != Evacuate.String():
		return fmt.Errorf("%w: kind %q: must be Handoff or Evacuate", ErrUndo, OneLine(u.Kind))
	case u.Node == "":
		return fmt.Errorf("%w: no node", ErrUndo)
	}
	if err := CheckClaim(u.Claim); err != nil {
		return fmt.Errorf("%w: %w", ErrUndo, err)
	}
	return nil
}

// Planned checks an order that is to be applied, and returns the node for which its undo was
// planned. It asks for the agent's own node only if the order is valid.
func (o Order) Planned(undo []byte, local func() (string, error)) (node string, err error) {
	if err := o.Check(); err != nil {
		return "", err
	}
	planned, err := DecodeUndo(undo)
	if err != nil {
		return "", err
	}
	own, err := local()
	if err != nil {
		return "", err
	}
	node = o.Subject(own)
	return node, planned.Matches(o, node)
}

// Matches returns an error unless the undo was planned for this order on this node.
func (u Undo) Matches(order Order, node string) error {
	switch {
	case u.Kind != order.Kind.String():
		return fmt.Errorf("%w: planned for %s, applied for %s", ErrUndo, u.Kind, order.Kind)
	case u.Claim != order.Claim:
		return fmt.Errorf("%w: planned for claim %q, applied for %q", ErrUndo, u.Claim, order.Claim)
	case u.Node != node:
		return fmt.Errorf("%w: planned for node %q, applied on %q", ErrUndo, OneLine(u.Node), OneLine(node))
	}
	return nil
}
