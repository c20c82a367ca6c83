package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

func (s *session) excludeCommand(ctx context.Context, tokens []string) (bool, error) {
	if len(tokens) == 1 {
		return s.listExclusions(ctx)
	}
	var force, failed, noWait bool
	var targets []string
	for _, t := range tokens[1:] {
		switch {
		case t == "FORCE":
			force = true
		case t == "no_wait":
			noWait = true
		case t == "failed":
			failed = true
		case !s.isTarget(t):
			s.malformed(t)
			return s.Version.Localities(), nil
		default:
			targets = append(targets, t)
		}
	}
	if len(targets) == 0 {
		s.noTarget()
		return false, nil
	}
	before, err := s.ask(ctx, wire.Request{Op: wire.Excluding, Targets: localities(targets)})
	if err != nil {
		return false, err
	}
	workers, err := s.ask(ctx, wire.Request{Op: wire.Workers})
	if err != nil {
		return false, err
	}
	done, err := s.ask(ctx, wire.Request{Op: wire.Exclude, Targets: targets, Force: force, Failed: failed})
	if err != nil {
		return false, err
	}
	if done.Problem == wire.NoRoom {
		s.noRoom()
		return false, nil
	}
	if !noWait {
		fmt.Fprint(s.Stdout, "Waiting for state to be removed from all excluded servers. This may take a while.\n"+
			"(Interrupting this wait with CTRL+C will not cancel the data movement.)\n")
	}
	s.warnAt = 0
	addresses, unmatched := expand(targets, before.Stands)
	state, err := s.waitExcluded(ctx, addresses, noWait)
	if err != nil {
		return false, err
	}
	for _, a := range addresses {
		s.verdict(a, workers.Addresses, state)
	}
	for _, l := range unmatched {
		fmt.Fprintf(s.Stderr, "  %s  ---- WARNING: Currently no servers found with this locality match! Be sure that you excluded the correct locality.\n", l)
	}
	s.tellCoordinators(addresses, state.Seats)
	return true, nil
}

// isTarget reports whether something can be excluded, in this version.
func (s *session) isTarget(t string) bool {
	return model.Address(t) || s.Version.Localities() && model.Locality(t)
}

func (s *session) malformed(t string) {
	what := "a valid network endpoint address"
	if s.Version.Localities() {
		what = "neither a valid network endpoint address nor a locality"
		fmt.Fprintf(s.Stderr, "ERROR: '%s' is %s\n", t, what)
	} else {
		fmt.Fprintf(s.Stderr, "ERROR: '%s' is not %s\n", t, what)
	}
	if strings.Contains(t, ":tls") {
		fmt.Fprint(s.Stdout, "        Do not include the `:tls' suffix when naming a process\n")
	}
}

func (s *session) noTarget() {
	switch {
	case s.Version.AtLeast(7, 4, 0):
		fmt.Fprint(s.Stderr, "ERROR: At least one valid network endpoint address or a locality must be provided\n")
	case s.Version.Localities():
		fmt.Fprint(s.Stderr, "ERROR: At least one valid network endpoint address or a locality is not provided\n")
	default:
		fmt.Fprint(s.Stderr, "ERROR: At least one valid network endpoint address must be provided\n")
	}
}

func (s *session) noRoom() {
	space := "free"
	if s.Version.AtLeast(7, 4, 0) {
		space = "available"
	}
	fmt.Fprintf(s.Stderr, "ERROR: This exclude may cause the total %s space in the cluster to drop below 10%%.\n"+
		"Type `exclude FORCE <ADDRESS...>' to exclude without checking %s space.\n", space, space)
}

func localities(targets []string) []string {
	return slices.DeleteFunc(slices.Clone(targets), func(t string) bool { return !model.Locality(t) })
}

// expand puts addresses in the place of localities.
func expand(targets []string, stands map[string][]string) (addresses, unmatched []string) {
	for _, t := range targets {
		switch {
		case !model.Locality(t):
			addresses = append(addresses, t)
		case len(stands[t]) == 0:
			unmatched = append(unmatched, t)
		default:
			addresses = append(addresses, stands[t]...)
		}
	}
	return addresses, unmatched
}

// covers reports whether a target, IP or IP:port, stands for an address.
func covers(target, address string) bool {
	ip, _, _ := strings.Cut(address, ":")
	return target == address || target == ip
}

// waitExcluded waits until nothing that is asked for is needed any more, unless nobody wants to wait. What it returns has
// InProgress empty when that is so.
func (s *session) waitExcluded(ctx context.Context, addresses []string, noWait bool) (wire.Reply, error) {
	for {
		reply, err := s.ask(ctx, wire.Request{Op: wire.Excluding})
		if err != nil {
			return reply, err
		}
		wanted := func(address string) bool {
			return slices.ContainsFunc(addresses, func(t string) bool { return covers(t, address) })
		}
		if !slices.ContainsFunc(reply.InProgress, wanted) && (!reply.WaitsForAll || noWait || len(reply.InProgress) == 0) {
			reply.InProgress = nil
			return reply, nil
		}
		if noWait {
			return reply, nil
		}
		if err := s.pause(ctx, s.Poll); err != nil {
			return reply, err
		}
	}
}

// verdict says of one address whether it may go.
func (s *session) verdict(target string, workers []string, state wire.Reply) {
	name, kind, kinds, gap := target, "process", "processes", " "
	if !strings.Contains(target, ":") {
		name, kind, kinds = target+"(Whole machine)", "machine", "machines"
		if s.Version.Localities() {
			gap = ""
		}
	}
	is := func(a string) bool { return covers(target, a) }
	switch {
	case !slices.ContainsFunc(workers, is):
		fmt.Fprintf(s.Stderr, "  %s  ---- WARNING: Missing from cluster!%sBe sure that you excluded the correct %s before removing them from the cluster!\n", name, gap, kinds)
	case slices.ContainsFunc(state.InProgress, is):
		fmt.Fprintf(s.Stderr, "  %s  ---- WARNING: Exclusion in progress! It is not safe to remove this %s from the cluster\n", name, kind)
	default:
		fmt.Fprintf(s.Stdout, "  %s  ---- Successfully excluded. It is now safe to remove this %s from the cluster.\n", name, kind)
	}
}

func (s *session) tellCoordinators(addresses, seats []string) {
	found := false
	for _, seat := range seats {
		if slices.ContainsFunc(addresses, func(t string) bool { return covers(t, seat) }) {
			fmt.Fprintf(s.Stderr, "WARNING: %s is a coordinator!\n", seat)
			found = true
		}
	}
	if found {
		fmt.Fprint(s.Stdout, "Type `help coordinators' for information on how to change the\ncluster's coordination servers before removing them.\n")
	}
}

// listExclusions lists what is excluded, in the words of the version.
func (s *session) listExclusions(ctx context.Context) (bool, error) {
	reply, err := s.ask(ctx, wire.Request{Op: wire.Excluding})
	if err != nil {
		return false, err
	}
	what := "servers or localities"
	if !s.Version.Localities() {
		what = "servers"
	}
	excluded, failed := ordered(reply.Excluded), ordered(reply.Failed)
	apart := s.Version.AtLeast(7, 3, 0) // older ones list both together
	if !apart {
		excluded, failed = append(excluded, failed...), nil
	}
	if len(excluded)+len(failed) == 0 {
		fmt.Fprintf(s.Stdout, "There are currently no %s excluded from the database.\nTo learn how to exclude a server, type `help exclude'.\n", what)
		return true, nil
	}
	if !s.Version.Localities() {
		what = "servers or processes"
	}
	s.enumerate("There are currently %d "+what+" being excluded from the database:\n", "  ", excluded)
	if len(excluded) > 0 {
		fmt.Fprint(s.Stdout, "To find out whether it is safe to remove one or more of these\n"+
			"servers from the cluster, type `exclude <addresses>'.\n"+
			"To return one of these servers to the cluster, type `include <addresses>'.\n")
	}
	if apart {
		fmt.Fprintln(s.Stdout)
		s.enumerate("There are currently %d servers or localities marked as failed in the database:\n", "  ", failed)
		if len(failed) > 0 {
			fmt.Fprint(s.Stdout, "To return one of these servers to the cluster, type `include failed <addresses>'.\n")
		}
	}
	if s.Version.AtLeast(7, 4, 0) {
		fmt.Fprintln(s.Stdout)
		s.enumerate("There are currently %d processes for which exclusion is in progress:\n", "", reply.InProgress)
	}
	return true, nil
}

func (s *session) enumerate(head, indent string, all []string) {
	fmt.Fprintf(s.Stdout, head, len(all))
	for _, x := range all {
		fmt.Fprintf(s.Stdout, "%s%s\n", indent, x)
	}
}

// ordered are the addresses and then the localities, each sorted, as they lie in the database.
func ordered(targets []string) []string {
	sorted := slices.Sorted(slices.Values(targets))
	slices.SortStableFunc(sorted, func(a, b string) int {
		switch {
		case model.Locality(a) == model.Locality(b):
			return 0
		case model.Locality(a):
			return 1
		default:
			return -1
		}
	})
	return sorted
}

func (s *session) includeCommand(ctx context.Context, tokens []string) (bool, error) {
	if len(tokens) < 2 {
		return s.misused("include")
	}
	r := wire.Request{Op: wire.Include}
	for _, t := range tokens[1:] {
		switch {
		case t == "all":
			r.All = true
		case t == "failed":
			r.Failed = true
		case !s.isTarget(t):
			s.malformed(t)
			return false, nil
		default:
			r.Targets = append(r.Targets, t)
		}
	}
	if !r.All && len(r.Targets) == 0 {
		return true, nil
	}
	_, err := s.ask(ctx, r)
	return err == nil, err
}
