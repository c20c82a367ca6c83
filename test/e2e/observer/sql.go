package observer

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/rollcall-dev/rollcall/test/e2e/sqlpod"
)

// Rows is the shard that all servers of a MySQL have a copy of.
const Rows = "rows"

// SQL is a MySQL or MariaDB as the observer asks it.
type SQL struct {
	Servers func() []sqlpod.Server
	// Names are the names of the servers that there should be.
	Names []string
	Pools *sqlpod.Pools
}

type answer struct {
	writable bool
	follows  sqlpod.Follows
	err      error
}

// Read asks each server whether it accepts writes, or which server it follows.
func (s SQL) Read(ctx context.Context) (Copies, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answers := map[string]answer{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, server := range s.Servers() {
		wg.Go(func() {
			var a answer
			db := s.Pools.Of(server)
			if a.writable, a.err = sqlpod.Writable(ctx, db); a.err == nil {
				a.follows, a.err = sqlpod.Following(ctx, db)
			}
			mu.Lock()
			defer mu.Unlock()
			answers[server.Pod] = a
		})
	}
	wg.Wait()
	return servers(s.Names, answers), nil
}

// servers says which of them serve: the one that can be written to, and those that follow it. A
// replica with a new source may still be connecting.
func servers(names []string, answers map[string]answer) Copies {
	primary := ""
	for _, name := range names {
		if a, there := answers[name]; there && a.err == nil && a.writable {
			primary = name
		}
	}
	out := Copies{}
	for _, name := range names {
		a, there := answers[name]
		source, _, _ := strings.Cut(a.follows.Source, ".")
		why := ""
		switch {
		case !there:
			why = "it is not there"
		case a.err != nil:
			why = "it does not answer: " + a.err.Error()
		case a.writable:
		case source == "":
			why = "it follows nobody"
		case !a.follows.Applying:
			why = "it does not apply: " + a.follows.Failure
		case !a.follows.Receiving && (a.follows.Failure != "" || source != primary):
			why = fmt.Sprintf("it does not receive from %s: %s", source, a.follows.Failure)
		}
		out.note(Rows, name, why)
	}
	return out
}
