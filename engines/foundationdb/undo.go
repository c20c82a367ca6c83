package foundationdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
)

// errNoVersion means that no version is known, on which the form of marks depends.
var errNoVersion = errors.New("no process is listed, so that it is not known by which marks entries are ours")

// undo names what an evacuation adds to the exclusion list. What others had there
// before is not in it, so it stays.
type undo struct {
	engines.Undo
	Targets []string `json:"targets,omitempty"`
	// Mark is the entry that says whose they are; empty where others had part of them.
	Mark string `json:"mark,omitempty"`
}

// plan finds out what has to be excluded. After a crash it is called again when the entries exist
// already; the mark shows that they are ours.
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
	wanted := targetsFor(v, node, processes)
	for _, t := range wanted {
		if !validTarget(t) {
			return fmt.Errorf("%w: %q cannot be excluded: must be an address or a locality", ErrCommand, engines.OneLine(t))
		}
		if !s.lists(t) || s.marksAsOurs(*u, t) {
			u.Targets = append(u.Targets, t)
		}
	}
	if len(u.Targets) < len(wanted) {
		u.Mark = "" // it would claim a foreign entry
	}
	return nil
}

// versionFor returns the version that the processes run, or without any, the oldest that others
// run: the version of an unavailable process is unknown.
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
		err = fmt.Errorf("%w: %d bytes: must be at most %d", engines.ErrUndo, len(data), engines.MaxUndo)
	}
	return data, err
}

// entries are what is excluded, with the marks beside it, as far as the bytes name them.
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

// withMark names the mark of the claim and the pod. Where others had part of what is to be
// excluded the bytes do not, as former agents would take it for the mark of all. Before 7.0, where
// one mark stands for all, there is none then.
func (s *status) withMark(u undo) (undo, error) {
	if u.Mark != "" || len(u.Targets) == 0 {
		return u, nil
	}
	if len(s.processes) == 0 {
		return u, errNoVersion
	}
	v, err := s.versionFor(s.of(u.Node))
	if err == nil && v.localities() {
		u.Mark = markOf(v, u.Claim, u.Node)
	}
	return u, err
}

// markOn is the mark that says that a target is ours; empty means none could.
func (s *status) markOn(u undo, target string) string {
	switch {
	case u.Mark == "" || target == instanceTarget(u.Node) && strings.HasPrefix(u.Mark, markPrefix):
		return u.Mark
	case strings.HasPrefix(target, localityPrefix):
		return ""
	case strings.HasPrefix(u.Mark, markPrefix):
		return u.Mark + "/" + target
	case s.isAnothers(u.Node, target): // one mark stands for all, and so for any address
		return ""
	}
	return u.Mark
}

// isAnothers reports whether a process of another pod has the address.
func (s *status) isAnothers(node, target string) bool {
	return slices.ContainsFunc(s.processes, func(p process) bool {
		return p.instance != node && (endpoint(p.address) == target || ipOf(p.address) == target)
	})
}

// marksAsOurs reports whether the exclusion list itself says that the target is on it for this
// claim and pod.
func (s *status) marksAsOurs(u undo, target string) bool {
	mark := s.markOn(u, target)
	return mark != "" && s.lists(mark)
}

// toExclude are the targets with the marks that say whose they are.
func (s *status) toExclude(u undo) ([]string, error) {
	out := u.entries()
	u, err := s.withMark(u)
	for _, t := range u.Targets {
		if mark := s.markOn(u, t); validTarget(mark) && !slices.Contains(out, mark) {
			out = append(out, mark)
		}
	}
	return out, err
}

// foreignSince is a target that somebody else has excluded since the order was planned. Our mark
// beside it would say that it is ours, and it would be included one day. The next plan knows it as
// foreign. (TestExcludedByAPersonSinceThePlan).
func (s *status) foreignSince(u undo) string {
	u, err := s.withMark(u)
	for _, t := range u.Targets {
		if err == nil && s.lists(t) && !s.marksAsOurs(u, t) {
			return t
		}
	}
	return ""
}

// toInclude are those of them that the list marks as ours, with their marks. The bytes alone
// say nothing: they come back from the status of a DatabaseCluster, and whoever writes that must
// not take off what an operator has excluded. What is on the list without a mark is left there.
func (s *status) toInclude(u undo) (ours, left []string, err error) {
	if u.Mark != "" {
		ours = append(ours, u.Mark)
	}
	u, err = s.withMark(u)
	for _, t := range u.Targets {
		switch {
		case !s.lists(t):
		case s.marksAsOurs(u, t):
			ours = append(ours, t)
		default:
			left = append(left, t)
		}
		if mark := s.markOn(u, t); mark != "" && !slices.Contains(ours, mark) {
			ours = append(ours, mark)
		}
	}
	if told := announcement(u.Mark); told != "" && s.lists(told) {
		ours = append(ours, told)
	}
	return ours, left, err
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
			return u, fmt.Errorf("%w: target %q: must be an address or a locality", engines.ErrUndo, engines.OneLine(t))
		}
	}
	if pod, claim := marks(u.Mark, u.Node, []string{u.Claim}); u.Mark != "" && !(pod && claim) {
		return u, fmt.Errorf("%w: mark %q: must be that of its claim and node", engines.ErrUndo, engines.OneLine(u.Mark))
	}
	if u.Kind != engines.Evacuate.String() && len(u.entries()) > 0 {
		return u, fmt.Errorf("%w: a handoff excludes nothing", engines.ErrUndo)
	}
	return u, nil
}
