package cli

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

func (s *session) maintenanceCommand(ctx context.Context, tokens []string) (bool, error) {
	switch {
	case len(tokens) == 1:
		return s.showMaintenance(ctx)
	case len(tokens) == 2 && tokens[1] == "off":
		return s.maintain(ctx, "", 0)
	case len(tokens) == 4 && tokens[1] == "on":
		seconds, err := strconv.ParseFloat(tokens[3], 64)
		if err != nil {
			return s.misused("maintenance")
		}
		return s.maintain(ctx, tokens[2], seconds)
	default:
		return s.misused("maintenance")
	}
}

func (s *session) showMaintenance(ctx context.Context) (bool, error) {
	reply, err := s.ask(ctx, wire.Request{Op: wire.Maintenance})
	switch {
	case err != nil:
		return false, err
	case reply.IgnoresFails:
		fmt.Fprint(s.Stdout, "Data distribution has been disabled for all storage server failures in this cluster and thus maintenance mode is not active.\n")
	case reply.Zone == "":
		fmt.Fprint(s.Stdout, "No ongoing maintenance.\n")
	default:
		fmt.Fprintf(s.Stdout, "Maintenance for zone %s will continue for %d seconds.\n", reply.Zone, int64(reply.Seconds))
	}
	return true, nil
}

func (s *session) maintain(ctx context.Context, zone string, seconds float64) (bool, error) {
	reply, err := s.ask(ctx, wire.Request{Op: wire.Maintain, Zone: zone, Seconds: seconds})
	if err != nil {
		return false, err
	}
	if reply.Problem == wire.Ignored {
		fmt.Fprint(s.Stderr, "ERROR: Maintenance mode cannot be used while data distribution is disabled for storage server failures. "+
			"Use 'datadistribution on' to reenable data distribution.\n")
		return false, nil
	}
	return true, nil
}

func (s *session) distributionCommand(ctx context.Context, tokens []string) (bool, error) {
	mode := strings.Join(tokens[1:], " ")
	answer, known := map[string]string{
		"on": "Data distribution is turned on.\n", "off": "Data distribution is turned off.\n",
		"disable ssfailure": "Data distribution is disabled for storage server failures.\n",
		"enable ssfailure":  "Data distribution is enabled for storage server failures.\n",
		"disable rebalance": "Data distribution is disabled for rebalance.\n",
		"enable rebalance":  "Data distribution is enabled for rebalance.\n",
	}[mode]
	if !known {
		return s.misused("datadistribution")
	}
	if _, err := s.ask(ctx, wire.Request{Op: wire.Distribution, Mode: mode}); err != nil {
		return false, err
	}
	fmt.Fprint(s.Stdout, answer)
	return true, nil
}

func (s *session) coordinatorsCommand(ctx context.Context, tokens []string) (bool, error) {
	if len(tokens) == 1 {
		reply, err := s.ask(ctx, wire.Request{Op: wire.Coordinators})
		if err != nil {
			return false, err
		}
		fmt.Fprintf(s.Stdout, "Cluster description: %s\nCluster coordinators (%d): %s\nType `help coordinators' to learn how to change this information.\n",
			reply.Description, len(reply.Addresses), join(reply.Addresses))
		return true, nil
	}
	r := wire.Request{Op: wire.SetCoordinators}
	for _, t := range tokens[1:] {
		if text, ok := strings.CutPrefix(t, "description="); ok && r.Description == "" {
			r.Description = text
			continue
		}
		r.Targets = append(r.Targets, t)
	}
	if len(r.Targets) == 1 && r.Targets[0] == "auto" {
		r.Auto, r.Targets = true, nil
	}
	for i, t := range r.Targets {
		if !s.isCoordinator(t) {
			fmt.Fprintf(s.Stderr, "ERROR: '%s' is not a valid network endpoint address\n", t)
			return s.Version.Localities(), nil
		}
		r.Targets[i] = strings.TrimSuffix(t, ":tls")
		if slices.Contains(r.Targets[:i], r.Targets[i]) {
			fmt.Fprintf(s.Stderr, "ERROR: passed redundant coordinators: `%s'\n", t)
			return s.Version.Localities(), nil
		}
	}
	reply, err := s.ask(ctx, r)
	if err == nil && reply.Problem == wire.FewMachines {
		// The cluster may be just about to learn of its machines: asked twice.
		if err := s.pause(ctx, time.Second); err != nil {
			return false, err
		}
		reply, err = s.ask(ctx, r)
	}
	if err != nil {
		return false, err
	}
	if reply.Problem == wire.Unreachable {
		for begun := time.Now(); time.Since(begun) < s.Reach; {
			if err := s.pause(ctx, s.Poll); err != nil {
				return false, err
			}
		}
	}
	return s.coordinatorsChanged(reply.Problem), nil
}

func (s *session) coordinatorsChanged(p wire.Problem) bool {
	switch p {
	case wire.NoProblem:
		fmt.Fprint(s.Stdout, "Coordination state changed\n")
		return true
	case wire.Unchanged:
		fmt.Fprint(s.Stdout, "No change (existing configuration satisfies request)\n")
		return true
	}
	fmt.Fprintf(s.Stderr, "ERROR: %s\n", map[wire.Problem]string{
		wire.Unreachable: "One of the specified coordinators is unreachable",
		wire.FewMachines: "Too few fdbserver machines to provide coordination at the current redundancy level",
	}[p])
	return false
}

var hostname = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?:[0-9]+(:tls)?$`)

// isCoordinator reports whether something has the form of a coordinator, in this version.
func (s *session) isCoordinator(t string) bool {
	if _, err := netip.ParseAddrPort(strings.TrimSuffix(t, ":tls")); err == nil {
		return true
	}
	host, _, _ := strings.Cut(t, ":")
	_, err := netip.ParseAddr(host)
	return err != nil && s.Version.Hostnames() && hostname.MatchString(t)
}

func (s *session) killCommand(ctx context.Context, tokens []string) (bool, error) {
	if len(tokens) == 1 {
		reply, err := s.ask(ctx, wire.Request{Op: wire.Workers})
		if err != nil {
			return false, err
		}
		s.killed = map[string]bool{}
		for _, a := range reply.Addresses {
			s.killed[a] = true
		}
	}
	if len(tokens) == 1 || tokens[1] == "list" {
		s.listKillable()
		return true, nil
	}
	targets := tokens[1:]
	if tokens[1] == "all" {
		if len(s.killed) == 0 {
			fmt.Fprint(s.Stderr, "ERROR: no processes to kill. You must run the `kill’ command before running `kill all’.\n")
			return false, nil
		}
		targets = s.killable()
	}
	for _, t := range targets {
		if !s.killed[t] {
			fmt.Fprintf(s.Stderr, "ERROR: process `%s' not recognized.\n", printable(t))
			return false, nil
		}
	}
	reply, err := s.ask(ctx, wire.Request{Op: wire.Kill, Targets: targets})
	if err != nil {
		return false, err
	}
	if reply.Problem == wire.Unrecognised && s.Version.AtLeast(7, 3, 0) {
		fmt.Fprintf(s.Stderr, "ERROR: failed to send requests to kill processes `%s', please run the `kill’ command again to fetch latest addresses.\n", join(targets))
		return false, nil
	}
	if s.Version.AtLeast(7, 3, 0) && tokens[1] != "all" {
		if err := s.pause(ctx, s.KillDelay); err != nil {
			return false, err
		}
	}
	fmt.Fprintf(s.Stdout, "Attempted to kill %d processes\n", len(targets))
	return true, nil
}

func (s *session) killable() []string {
	var all []string
	for a := range s.killed {
		all = append(all, a)
	}
	slices.Sort(all)
	return all
}

func (s *session) listKillable() {
	all := s.killable()
	switch len(all) {
	case 0:
		fmt.Fprint(s.Stdout, "\nNo addresses can be killed.\n")
	case 1:
		fmt.Fprint(s.Stdout, "\nThe following address can be killed:\n")
	default:
		fmt.Fprintf(s.Stdout, "\nThe following %d addresses can be killed:\n", len(all))
	}
	for _, a := range all {
		fmt.Fprintln(s.Stdout, a)
	}
	fmt.Fprintln(s.Stdout)
}

func (s *session) sleepCommand(ctx context.Context, tokens []string) (bool, error) {
	if len(tokens) != 2 {
		return s.misused("sleep")
	}
	seconds, err := strconv.ParseFloat(tokens[1], 64)
	if err != nil {
		return s.misused("sleep")
	}
	err = s.pause(ctx, time.Duration(seconds*float64(time.Second)))
	return err == nil, err
}
