package mysql

import (
	"encoding/json"

	"github.com/rollcall-dev/rollcall/engines"
)

// undo names what to undo, and keeps what cannot be found out later.
type undo struct {
	engines.Undo
	// Wrote means that the node allowed writes when this was planned, so that Rollcall made it
	// read-only.
	Wrote bool `json:"wrote"`
	// Domain behind the names of the node and the others of its StatefulSet in their addresses, for
	// agents from before. It is not read: undo bytes come from the status of a DatabaseCluster, and
	// users who may write that must not decide to which hosts passwords are sent.
	Domain string `json:"domain,omitempty"`
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
