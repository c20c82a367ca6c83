package foundationdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// evacuate empties a pod whose data will be lost: first its seat among the coordinators, which no
// exclusion moves, then everything else. It is done when the status says that nothing is left, and
// fdbcli's own words say for each of its processes that it is safe to remove it.
//
// A pod whose process is unavailable is emptied too: its data are rebuilt elsewhere, and exclude
// waits for unavailable storage servers as for others, in versions that exclude by locality.
//
// It never says failed, which gives data up, and never FORCE.
func (e *Engine) evacuate(ctx context.Context, order engines.Order, u undo, s snapshot) (engines.Progress, error) {
	own := s.of(u.Node)
	absent := len(own) == 0
	if absent && !slices.Contains(u.Targets, instanceTarget(u.Node)) && !s.lists(instanceTarget(u.Node)) {
		return running("%s has no process in the database: what it had cannot be said to be elsewhere", engines.OneLine(u.Node)), nil
	}
	entries, err := s.toExclude(u)
	if err != nil {
		return engines.Progress{}, err
	}
	excluded := !slices.ContainsFunc(entries, func(t string) bool { return !s.lists(t) })
	if !excluded {
		if t := s.foreignSince(u); t != "" {
			return refused("somebody else has excluded %s since this was planned (%s): it is to be begun again", engines.OneLine(u.Node), engines.OneLine(t)), nil
		}
		if why := s.never(u.Node, e.options.Recovered); why != "" {
			return refused("%s", why), nil
		}
		if why := e.ready(s); why != "" {
			return running("%s", why), nil
		}
		if s.maintenance != "" {
			return running("%s", s.noExclusion()), nil
		}
		if why := s.noPlace(u.Node, 0); why != "" {
			return refused("%s", why), nil
		}
	}
	switch seats, why := s.seatList(); {
	case why != "" && excluded:
		return running("%s", why), nil
	case why != "":
		return refused("%s", why), nil
	case s.sits(u.Node, seats) || s.coordinates(u.Node) || absent && s.missesSeat():
		if progress, its, err := e.moveSeat(ctx, order, u, s, seats); its || err != nil {
			return progress, err
		}
	}
	if !excluded {
		return e.exclude(ctx, order, entries)
	}
	if address := s.uncovered(own); address != "" {
		return refused("%s has come to %s since its addresses were excluded: that one is to be excluded, too", engines.OneLine(u.Node), address), nil
	}
	if wait := s.held(u.Node); wait != "" {
		return running("%s", wait), nil
	}
	return e.confirm(ctx, u, s, own)
}

// never returns why the data of the pod can be nowhere else even when all that is missing now is back,
// which does not have to be waited for. Each pod that is away may be a zone. (TestNeverIsSaidAtOnce).
func (s snapshot) never(node string, recovered time.Duration) string {
	if s.notAll(recovered) != "" {
		return ""
	}
	pods, nobodys := map[string]bool{}, 0
	for _, r := range append(slices.Clone(s.away), s.absent...) {
		switch {
		case r.instance == "":
			nobodys++
		case r.instance != node:
			pods[r.instance] = true
		}
	}
	return s.noPlace(node, len(pods)+nobodys)
}

// noPlace returns why the data of the pod can never be elsewhere: there would be fewer zones that can
// hold some than copies, with as many more as others may bring.
func (s snapshot) noPlace(node string, more int) string {
	copies, known := s.copies()
	if !known {
		return ""
	}
	zones := map[string]bool{}
	for _, p := range s.processes {
		if p.instance != node && (p.has("storage") || canStore(p.class)) && !is(p.excluded) {
			zones[p.zone] = true
		}
	}
	if (hasStorage(s.status, node) || len(s.of(node)) == 0) && len(zones)+more < copies {
		return fmt.Sprintf("data have %d copies in as many zones, and without %s there could be storage in %d", copies, engines.OneLine(node), len(zones))
	}
	return ""
}

// canStore reports whether a process of the class takes data: where no others are left also one that
// is there for logs.
func canStore(class string) bool {
	switch class {
	case "storage", "unset", "log", "transaction":
		return true
	}
	return false
}

// noExclusion returns why nothing is excluded during maintenance: processes of the zone go down, and
// the database, which waits for them, does not count what is missing.
func (s snapshot) noExclusion() string {
	return fmt.Sprintf("zone %s is under maintenance for %d s more: until that ends, or somebody says maintenance off, nothing is excluded",
		engines.OneLine(s.maintenance), int(s.remaining))
}

// exclude adds the pod to the exclusion list, with the mark that says whose it is.
func (e *Engine) exclude(ctx context.Context, order engines.Order, entries []string) (engines.Progress, error) {
	if err := engines.InTime(order.NotAfter); err != nil {
		return engines.Progress{}, err
	}
	a, err := e.client.run(ctx, "exclude no_wait "+strings.Join(entries, " "))
	if err != nil {
		return engines.Progress{}, err
	}
	switch said := readExclusion(a); {
	case said.noSpace:
		return refused("%s", noSpaceWords), nil
	case said.unknown:
		return running("%s", unknownSpaceWords), nil
	case said.refusals != "":
		return engines.Progress{}, refusal{"exclude", said.refusals}
	}
	return running("excluded, its data are being moved"), nil
}

// uncovered is the address of a process for which no entry of the list stands. The undo
// bytes were noted before, so that no other can be added for this order.
func (s snapshot) uncovered(own []process) string {
	for _, p := range own {
		if !is(p.excluded) && !s.lists(instanceTarget(p.instance)) && !s.lists(endpoint(p.address)) && !s.lists(ipOf(p.address)) {
			return endpoint(p.address)
		}
	}
	return ""
}

// held returns what the pod still has, or why the status cannot be trusted; empty means nothing.
func (s snapshot) held(node string) string {
	if why := s.disabled.words(); why != "" { // nothing is moved either
		return why
	}
	for _, p := range s.of(node) {
		switch {
		case !is(p.excluded):
			return endpoint(p.address) + " is not excluded yet"
		case !p.rolesKnown:
			return "the roles of " + endpoint(p.address) + " are not known"
		case len(p.roles) > 0:
			return fmt.Sprintf("%s still is %s, with %d bytes", endpoint(p.address), engines.OneLine(strings.Join(p.roles, ", ")), p.stored)
		}
	}
	absent := len(s.of(node)) == 0
	switch {
	case absent && s.maintenance != "":
		return fmt.Sprintf("zone %s is in maintenance, during which the database does not count what is missing", engines.OneLine(s.maintenance))
	case s.unlisted() != "":
		return s.unlisted()
	case s.counted(node) != "":
		return s.counted(node)
	case absent && !s.whole():
		return "copies of data are missing, and it may have had them"
	case s.alarm() != "":
		return "the database says " + s.alarm()
	case s.generations == nil || *s.generations != 1:
		return "there are several generations of logs, or it is not known how many"
	}
	return ""
}

// counted returns what the database still counts on that is, or may be, the pod's and does not run.
func (s snapshot) counted(node string) string {
	for _, r := range s.away {
		switch {
		case r.instance == node && r.role == "log":
			return "the database still needs a log of it"
		case r.instance == node:
			return "the database still counts on a storage server of it"
		case r.instance == "" && r.role == "storage":
			return fmt.Sprintf("the database still counts on a storage server (%s) that does not run, and nobody can tell whether it was in %s", engines.OneLine(r.id), engines.OneLine(node))
		}
	}
	return ""
}

// confirm asks with the blocking form, which looks at what no status shows, such as
// logs of a process that is listed without a role.
func (e *Engine) confirm(ctx context.Context, u undo, s snapshot, own []process) (engines.Progress, error) {
	asked := s.listed(u, own)
	if len(asked) == 0 {
		return running("it is excluded by an entry that does not name it, about which fdbcli cannot be asked"), nil
	}
	a, err := e.client.run(ctx, "exclude "+strings.Join(asked, " "))
	if errors.Is(err, ErrTimeout) && ctx.Err() == nil {
		return running("fdbcli waits for what the pod still has"), nil
	}
	if err != nil {
		return engines.Progress{}, err
	}
	said := readExclusion(a)
	free, why := said.frees(own)
	if len(own) == 0 {
		free, why = said.freesAbsent()
	}
	if !free {
		return running("%s", engines.OneLine(why)), nil
	}
	return engines.Progress{State: engines.ProgressDone}, nil
}

// listed are the entries of the exclusion list that name the pod, whoever made them.
// Only about these is asked: exclude would add others to the list.
func (s *status) listed(u undo, own []process) []string {
	candidates := append(slices.Clone(u.Targets), instanceTarget(u.Node))
	for _, p := range own {
		candidates = append(candidates, endpoint(p.address), ipOf(p.address))
	}
	slices.Sort(candidates)
	candidates = slices.Compact(candidates)
	return slices.DeleteFunc(candidates, func(t string) bool { return !s.lists(t) })
}
