package mysql

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/rollcall-dev/rollcall/engines"
)

// undo names what to undo, and keeps what nobody could find out later.
type undo struct {
	engines.Undo
	// Wrote: the node allowed writes when this was planned, so that it was one of us
	// who made it read-only.
	Wrote bool `json:"wrote"`
	// Domain that followed members' names in their addresses.
	Domain string `json:"domain,omitempty"`
}

func (u undo) encode() ([]byte, error) { return json.Marshal(u) }

// decodeUndo reads the bytes, and nothing that only looks like them.
func decodeUndo(data []byte) (undo, error) {
	var u undo
	if len(data) > engines.MaxUndo {
		return u, fmt.Errorf("%w: %d bytes: want at most %d", engines.ErrUndo, len(data), engines.MaxUndo)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&u); err != nil {
		return u, fmt.Errorf("%w: %w", engines.ErrUndo, err)
	}
	if decoder.More() {
		return u, fmt.Errorf("%w: something follows them", engines.ErrUndo)
	}
	shared, err := u.Encode()
	if err != nil {
		return u, fmt.Errorf("%w: %w", engines.ErrUndo, err)
	}
	_, err = engines.DecodeUndo(shared)
	return u, err
}
