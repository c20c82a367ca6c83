package sqlcluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/rollcall-dev/rollcall/test/e2e/load"
	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// Session is one rollout's use of the database: clients that write to the
// primary and read everywhere, and who watches whether there is one primary.
type Session struct {
	*Cluster
	Rows    *load.Rows
	Primary *witness.Primary
}

// Session makes one.
func (c *Cluster) Session() (*Session, error) {
	rows, err := load.NewRows(load.RowOptions{Servers: c.Servers, Ready: c.ReadyServers, Login: App})
	if err != nil {
		return nil, err
	}
	return &Session{Cluster: c, Rows: rows, Primary: witness.NewPrimary(witness.PrimaryOptions{Servers: c.Servers, Login: Witness})}, nil
}

// Outcome is the outcome of a session.
type Outcome struct {
	rehearsal.Outcome
	Primaries witness.Primaries
	// Differ are rows that are not on every server, acknowledged or not.
	Differ []string
}

func (o Outcome) String() string { return o.Outcome.String() + "; " + o.Primaries.String() }

// Run rehearses a change.
func (s *Session) Run(ctx context.Context, r rehearsal.Rehearsal) (Outcome, error) {
	r.On = s
	out := Outcome{}
	var err error
	out.Outcome, err = r.Run(ctx)
	out.Primaries = s.Primary.Report()
	if err == nil {
		out.Differ, err = s.Differ(ctx)
	}
	return out, err
}

// Seen is what became of a rollout of this session, for people, and what of it
// was not as promised.
func (s *Session) Seen(ctx context.Context, r rehearsal.Outcome) (string, error) {
	out := Outcome{Outcome: r, Primaries: s.Primary.Report()}
	var err error
	out.Differ, err = s.Differ(ctx)
	if err == nil && out.Primaries.Switchovers() == 0 {
		err = errors.New("the primary was not handed over")
	}
	return out.Primaries.String(), errors.Join(err, out.Judge(1))
}

// Judge says what of a rollout was not as promised: one switchover at most, and
// never two servers that can be written to.
func (o Outcome) Judge(switchovers int) error {
	var errs []error
	if n := len(o.Primaries.Two); n > 0 {
		errs = append(errs, fmt.Errorf("two servers could be written to at once, %d times: %v", n, o.Primaries.Two))
	}
	if n := o.Primaries.Switchovers(); n > switchovers {
		errs = append(errs, fmt.Errorf("%d switchovers, want %d: %v", n, switchovers, o.Primaries.Turns))
	}
	if n := o.LostDocs(); n > 0 {
		errs = append(errs, fmt.Errorf("%d acknowledged rows are lost", n))
	}
	if n := len(o.Differ); n > 0 {
		errs = append(errs, fmt.Errorf("%d rows are not on every server: %v", n, o.Differ[:min(n, 10)]))
	}
	return errors.Join(errs...)
}

// using is the load with the watch.
type using struct {
	*load.Rows
	primary *witness.Primary
}

func (u using) Run(ctx context.Context) load.Stats {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { u.primary.Run(ctx) })
	return u.Rows.Run(ctx)
}

// Clients are one kind: there is a copy of everything on each server.
func (s *Session) Clients() (all, alone rehearsal.Client, err error) {
	return using{s.Rows, s.Primary}, nil, nil
}

// Watched is how a witness looks at it.
func (s *Session) Watched(context.Context) (witness.Options, error) {
	return witness.Options{Pods: s.Pods.Witnessed, Desired: Servers, Read: func(context.Context, string) (witness.State, error) {
		if len(s.Primary.Known()) < min(Servers, len(s.Servers())) {
			return witness.State{}, errors.New("not every server has been looked at yet")
		}
		return s.Primary.Copies(Servers), nil
	}}, nil
}

// Holders says which servers have a row.
func (s *Session) Holders(ctx context.Context, _, id string) string { return s.Rows.Holders(ctx, id) }

// Differ are the rows of this session that are not on every server.
func (s *Session) Differ(ctx context.Context) ([]string, error) {
	on := map[string]map[string]bool{}
	all := map[string]bool{}
	for _, server := range s.Servers() {
		rows, err := s.Rows.On(ctx, server)
		if err != nil {
			return nil, fmt.Errorf("rows of %s: %w", server.Pod, err)
		}
		on[server.Pod] = rows
		maps.Copy(all, rows)
	}
	var differ []string
	for _, id := range slices.Sorted(maps.Keys(all)) {
		for _, pod := range slices.Sorted(maps.Keys(on)) {
			if !on[pod][id] {
				differ = append(differ, id+" is not on "+pod)
			}
		}
	}
	return differ, nil
}

// Address returns the address of a pod's server, for callers that open their own connection.
func (c *Cluster) Address(pod string) (string, error) {
	for _, s := range c.Servers() {
		if s.Pod == pod {
			return s.Address, nil
		}
	}
	return "", fmt.Errorf("there is no server %s", pod)
}
