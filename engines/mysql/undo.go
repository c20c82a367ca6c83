package mysql

import (
	"encoding/json"

	"github.com/rollcall-dev/rollcall/engines"
)

// undo names what to undo, and keeps what nobody could find out later. It names no host: undo
// bytes come back from the status of a DatabaseCluster, and whoever writes that must not say to
// whom passwords are shown.
type undo struct {
	engines.Undo
	// Wrote means that the node allowed writes when this was planned, so that Rollcall made it
	// read-only.
	Wrote bool `json:"wrote"`
	// InPlace means that the node keeps the role, so that nothing is written to any server.
	InPlace bool `json:"inPlace,omitempty"`
}

// primary returns what was planned for the role.
func (u undo) primary() engines.Primary {
	switch {
	case u.InPlace:
		return engines.RestartInPlace
	case u.Wrote:
		return engines.Switchover
	}
	return engines.PrimaryUnknown
}

func (u undo) encode() ([]byte, error) { return json.Marshal(u) }

// decodeUndo decodes the bytes that encode returned.
func decodeUndo(data []byte) (undo, error) {
	var u undo
	if err := engines.ReadUndo(data, &u); err != nil {
		return u, err
	}
	return u, u.Check()
}
