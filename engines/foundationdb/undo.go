package foundationdb

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
)

// undo names what an evacuation adds to the exclusion list. What others had there
// before is not in it, so it stays.
type undo struct {
	engines.Undo
	Targets []string `json:"targets,omitempty"`
	// Mark is the entry that says whose they are; empty where others had part of them.
	Mark string `json:"mark,omitempty"`
}

// plan finds out what has to be excluded. It is asked again after a crash, when it
// is there already: the mark tells that it is ours.
func (u *undo) plan(s *status, claim, node string) error {
	processes := s.of(node)
	if len(processes) == 0 {
		return fmt.Errorf("%w: %s", ErrNotThere, engines.OneLine(node))
	}
	v, err := parseVersion(processes[0].version)
	if err != nil {
		return err
	}
	u.Mark = markOf(v, claim, node)
	ours := s.lists(u.Mark)
	wanted := targetsFor(v, node, processes)
	for _, t := range wanted {
		if !validTarget(t) {
			return fmt.Errorf("%w: %q cannot be excluded: want an address or a locality", ErrCommand, engines.OneLine(t))
		}
		if ours || !s.lists(t) {
			u.Targets = append(u.Targets, t)
		}
	}
	if len(u.Targets) < len(wanted) {
		u.Mark = "" // it would claim what is somebody else's
	}
	return nil
}

func (u undo) encode() ([]byte, error) {
	data, err := json.Marshal(u)
	if err == nil && len(data) > engines.MaxUndo {
		err = fmt.Errorf("%w: %d bytes: want at most %d", engines.ErrUndo, len(data), engines.MaxUndo)
	}
	return data, err
}

// entries are what Restore takes away.
func (u undo) entries() []string {
	out := slices.Clone(u.Targets)
	if u.Mark != "" {
		out = append(out, u.Mark)
	}
	return out
}

func readUndo(data []byte) (undo, error) {
	var u undo
	if err := engines.ReadUndo(data, &u); err != nil {
		return u, err
	}
	if err := u.Check(); err != nil {
		return u, err
	}
	for _, t := range u.entries() {
		if !validTarget(t) {
			return u, fmt.Errorf("%w: target %q: want an address or a locality", engines.ErrUndo, engines.OneLine(t))
		}
	}
	if pod, claim := marks(u.Mark, u.Node, []string{u.Claim}); u.Mark != "" && !(pod && claim) {
		return u, fmt.Errorf("%w: mark %q: want that of its claim and node", engines.ErrUndo, engines.OneLine(u.Mark))
	}
	if u.Kind != engines.Evacuate.String() && len(u.entries()) > 0 {
		return u, fmt.Errorf("%w: a handoff excludes nothing", engines.ErrUndo)
	}
	return u, nil
}
