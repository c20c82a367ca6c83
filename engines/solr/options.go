package solr

import (
	"cmp"
	"errors"
	"time"

	"github.com/rollcall-dev/rollcall/engines/web"
)

// Options say how to reach the local Solr node. The zero value is a Solr on
// localhost:8983 without TLS and without authentication. Answers have 32 MiB at most; see
// large for what else bounds one. Moving leaders of one collection takes about 3 s.
type Options struct {
	web.Access
	// Parallel is how many collections are worked on at once. 0 means 16.
	Parallel int
	// Poll is how often a change is looked for while it is waited for. 0 means 50 ms.
	Poll time.Duration
}

func (o Options) withDefaults() Options {
	o.Access = o.Access.WithDefaults(8983, large.Bytes)
	o.Parallel, o.Poll = cmp.Or(o.Parallel, 16), cmp.Or(o.Poll, 50*time.Millisecond)
	return o
}

func (o Options) client() (*web.Client, error) {
	if o.Poll < 0 || o.Parallel < 0 {
		return nil, errors.New("poll, parallel: must be positive values")
	}
	return web.New(web.Options{Access: o.Access, Server: "solr", Connections: o.Parallel + 4, Advise: true, Words: errorText})
}
