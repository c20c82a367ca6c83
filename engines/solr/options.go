package solr

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// Options say how to reach the local Solr node. The zero value is a Solr on
// localhost:8983 without TLS and without authentication.
type Options struct {
	// Host and Port of the local node. Empty and 0: localhost and 8983.
	Host string
	Port int
	TLS  web.TLS
	// Credentials are asked before every request, so that a changed password is
	// used at once. Nil: anonymous.
	Credentials credentials.Source

	// Timeout bounds each reading request. 0: 5 s.
	Timeout time.Duration
	// WriteTimeout bounds each request that changes something; moving leaders of
	// one collection takes about 3 s. 0: 30 s.
	WriteTimeout time.Duration
	// MaxBytes bounds the body of each answer. 0: 32 MiB; see large for what else
	// bounds one.
	MaxBytes int64
	// Parallel is how many collections are worked on at once. 0: 16.
	Parallel int
	// Poll is how often a change is looked for while it is waited for. 0: 50 ms.
	Poll time.Duration
	// BalanceAfterUpdate: Restore of an evacuation redistributes replicas over the
	// live nodes (Solr 9.3 and later; older ones are left alone).
	BalanceAfterUpdate bool

	// dial connects. Nil: over the network.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func (o Options) withDefaults() Options {
	if o.Host == "" {
		o.Host = "localhost"
	}
	if o.Port == 0 {
		o.Port = 8983
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = 30 * time.Second
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = large.Bytes
	}
	if o.Parallel == 0 {
		o.Parallel = 16
	}
	if o.Poll == 0 {
		o.Poll = 50 * time.Millisecond
	}
	return o
}

func (o Options) validate() error {
	if o.Timeout < 0 || o.WriteTimeout < 0 || o.Poll < 0 || o.MaxBytes < 0 || o.Parallel < 0 {
		return errors.New("timeout, write timeout, poll, max bytes, parallel: want positive values")
	}
	return nil
}

func (o Options) web() web.Options {
	return web.Options{
		Server: "solr", Host: o.Host, Port: o.Port, TLS: o.TLS, Credentials: o.Credentials,
		Timeout: max(o.Timeout, o.WriteTimeout), MaxBytes: o.MaxBytes, Connections: o.Parallel + 4, Words: errorText, Dial: o.dial,
	}
}
