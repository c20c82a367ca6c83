package opensearch

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// Options say how to reach the local OpenSearch node. The zero value is a node on
// localhost:9200 without TLS and without authentication.
type Options struct {
	// Host and Port of the local node. Empty and 0: localhost and 9200.
	Host string
	Port int
	TLS  web.TLS
	// Credentials are asked before every request, so that a changed password is
	// used at once. Nil: anonymous.
	Credentials credentials.Source

	// Timeout bounds each reading request. 0: 5 s.
	Timeout time.Duration
	// WriteTimeout bounds each request that changes something. 0: 30 s.
	WriteTimeout time.Duration
	// MaxBytes bounds the body of each answer. 0: 32 MiB, some 50,000 shards
	// with a replica each; see large for what else bounds one.
	MaxBytes int64

	// dial connects. Nil: over the network.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func (o Options) withDefaults() Options {
	if o.Host == "" {
		o.Host = "localhost"
	}
	if o.Port == 0 {
		o.Port = 9200
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
	return o
}

func (o Options) validate() error {
	if o.Timeout < 0 || o.WriteTimeout < 0 || o.MaxBytes < 0 {
		return errors.New("timeout, write timeout, max bytes: want positive values")
	}
	return nil
}

func (o Options) web() web.Options {
	return web.Options{
		Server: "opensearch", Host: o.Host, Port: o.Port, TLS: o.TLS, Credentials: o.Credentials,
		Timeout: max(o.Timeout, o.WriteTimeout), MaxBytes: o.MaxBytes, Connections: 4, Words: errorText, Dial: o.dial,
	}
}
