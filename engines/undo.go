package engines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrUndo: the undo bytes are not from an adapter, or not for this order.
var ErrUndo = errors.New("undo bytes are not readable")

// Undo is what adapters answer to Plan that keep the details in the database, with
// a mark: it names what to undo.
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

// Encode answers the bytes.
func (u Undo) Encode() ([]byte, error) { return json.Marshal(u) }

// DecodeUndo reads the bytes, and nothing that only looks like them.
func DecodeUndo(data []byte) (Undo, error) {
	var u Undo
	if len(data) > MaxUndo {
		return u, fmt.Errorf("%w: %d bytes: want at most %d", ErrUndo, len(data), MaxUndo)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&u); err != nil {
		return u, fmt.Errorf("%w: %w", ErrUndo, err)
	}
	if decoder.More() {
		return u, fmt.Errorf("%w: something follows them", ErrUndo)
	}
	switch {
	case u.Version != undoVersion:
		return u, fmt.Errorf("%w: version %d: want %d", ErrUndo, u.Version, undoVersion)
	case u.Kind != Handoff.String() && u.Kind != Evacuate.String():
		return u, fmt.Errorf("%w: kind %q: want Handoff or Evacuate", ErrUndo, OneLine(u.Kind))
	case u.Node == "":
		return u, fmt.Errorf("%w: no node", ErrUndo)
	}
	if err := CheckClaim(u.Claim); err != nil {
		return u, fmt.Errorf("%w: %w", ErrUndo, err)
	}
	return u, nil
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

// Matches tells whether the undo was planned for this order on this node.
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
