package opensearch

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/rollcall-dev/rollcall/engines"
)

// undo names what to undo; the details are in the database (mark.go).
type undo struct {
	Version int    `json:"v"`
	Kind    string `json:"kind"` // engines.Kind as text
	Claim   string `json:"claim"`
	Node    string `json:"node"` // that was prepared
}

const undoVersion = 1

func (u undo) encode() ([]byte, error) { return json.Marshal(u) }

func decodeUndo(data []byte) (undo, error) {
	var u undo
	if len(data) > engines.MaxUndo {
		return u, fmt.Errorf("%w: %d bytes: want at most %d", ErrUndo, len(data), engines.MaxUndo)
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
	case u.Kind != engines.Handoff.String() && u.Kind != engines.Evacuate.String():
		return u, fmt.Errorf("%w: kind %q: want Handoff or Evacuate", ErrUndo, oneLine(u.Kind))
	case u.Node == "":
		return u, fmt.Errorf("%w: no node", ErrUndo)
	}
	if err := checkClaim(u.Claim); err != nil {
		return u, fmt.Errorf("%w: %w", ErrUndo, err)
	}
	return u, nil
}

// matches tells whether the undo was planned for this order on this node.
func (u undo) matches(order engines.Order, node string) error {
	switch {
	case u.Kind != order.Kind.String():
		return fmt.Errorf("%w: planned for %s, applied for %s", ErrUndo, u.Kind, order.Kind)
	case u.Claim != order.Claim:
		return fmt.Errorf("%w: planned for claim %q, applied for %q", ErrUndo, u.Claim, order.Claim)
	case u.Node != node:
		return fmt.Errorf("%w: planned for node %q, applied on %q", ErrUndo, oneLine(u.Node), oneLine(node))
	}
	return nil
}
