package engines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrUndo means that the undo bytes are not from an adapter, or not for this order.
var ErrUndo = errors.New("undo bytes are not readable")

// Undo is what adapters return from PlanDrain that keep the details in the database
// with a mark: it names what to undo.
type Undo struct {
	Version int    `json:"v"`
	Kind    string `json:"kind"` // Kind as text
	Claim   string `json:"claim"`
	Node    string `json:"node"` // that was prepared
}

const undoVersion = 1

// UndoOn names the order's work on the node.
func (o Order) UndoOn(node string) Undo {
	return Undo{Version: undoVersion, Kind: o.Kind.String(), Claim: o.Claim, Node: node}
}

// Encode returns the bytes.
func (u Undo) Encode() ([]byte, error) { return json.Marshal(u) }

// ReadUndo reads bytes of at most MaxUndo into a value, and nothing that only looks
// like them: no field that it does not have, and nothing behind them.
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

// DecodeUndo reads what Encode has answered.
func DecodeUndo(data []byte) (Undo, error) {
	var u Undo
	if err := ReadUndo(data, &u); err != nil {
		return u, err
	}
	return u, u.Check()
}

// ClaimOf is the claim that undo bytes name; empty where they are no adapter's that names one.
func ClaimOf(data []byte) string {
	var u struct {
		Claim string `json:"claim"`
	}
	if len(data) > MaxUndo || json.Unmarshal(data, &u) != nil {
		return ""
	}
	return u.Claim
}

// Check tells what no adapter would have planned.
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

// Planned checks an order that is to be applied, and answers the node that it is
// about: that for which its undo was planned. The agent's own node is asked for
// only when the order makes sense.
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

// Matches reports whether the undo was planned for this order on this node.
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
