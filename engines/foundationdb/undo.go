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
	v, err := s.versionFor(processes)
	if err != nil {
		return err
	}
	if len(processes) == 0 && !v.byLocality() {
		return fmt.Errorf("%w: %s: before 7.1.42 and 7.3.26 only processes that run can be excluded and waited for", ErrNotThere, engines.OneLine(node))
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

// versionFor is what the processes run, or where there are none the oldest that others
// do: of one that is away nobody says it.
func (s *status) versionFor(processes []process) (version, error) {
	if len(processes) > 0 {
		return parseVersion(processes[0].version)
	}
	var oldest version
	for i, p := range s.processes {
		v, err := parseVersion(p.version)
		if err != nil {
			return version{}, err
		}
		if i == 0 || v.Compare(oldest.Version) < 0 {
			oldest = v
		}
	}
	return oldest, nil
}

func (u undo) encode() ([]byte, error) {
	data, err := json.Marshal(u)
	if err == nil && len(data) > engines.MaxUndo {
		err = fmt.Errorf("%w: %d bytes: want at most %d", engines.ErrUndo, len(data), engines.MaxUndo)
	}
	return data, err
}

// entries are what is excluded, with the marks beside it: what Restore takes away.
func (u undo) entries() []string {
	out := slices.Clone(u.Targets)
	if u.Mark != "" {
		out = append(out, u.Mark)
	}
	for _, t := range u.Targets {
		if mark := markFor(u.Mark, t); mark != "" {
			out = append(out, mark)
		}
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
