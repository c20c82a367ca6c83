package server

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// Options say how to reach the local server. The zero value is one on
// localhost:3306 without TLS and without a password.
type Options struct {
	// Host and Port of the server. Empty and 0: localhost and 3306.
	Host string
	Port int
	TLS  web.TLS
	// Credentials are asked for each new connection. Nil: anonymous.
	Credentials credentials.Source
	// ReplicationCredentials are those with which replicas follow their source; asked
	// each time that one is given a new source. Nil: a replica keeps its own, and
	// whoever has none cannot be made one.
	ReplicationCredentials credentials.Source
	// Flavor that the server must be of. Empty: either.
	Flavor replication.Flavor
	// Timeout bounds a look, and each statement that is not meant to wait. 0: 5 s.
	Timeout time.Duration
	// MaxBytes bounds the answer to one statement. 0: 4 MiB.
	MaxBytes int64
}

func (o Options) WithDefaults() Options {
	o.Host, o.Port = cmp.Or(o.Host, "localhost"), cmp.Or(o.Port, 3306)
	o.Timeout, o.MaxBytes = cmp.Or(o.Timeout, 5*time.Second), cmp.Or(o.MaxBytes, 4<<20)
	return o
}

func (o Options) validate() error {
	var errs []error
	if o.Port < 1 || o.Port > 65535 {
		errs = append(errs, fmt.Errorf("port %d: want 1 to 65535", o.Port))
	}
	if o.Host != engines.OneLine(o.Host) || strings.ContainsAny(o.Host, " /@?#()[]") {
		errs = append(errs, fmt.Errorf("host %q: want a host name or an IP address", engines.OneLine(o.Host)))
	}
	if o.Timeout < 0 || o.MaxBytes < 0 {
		errs = append(errs, errors.New("timeout, max bytes: want positive values"))
	}
	if o.Flavor != "" && o.Flavor != replication.MySQL && o.Flavor != replication.MariaDB {
		errs = append(errs, fmt.Errorf("flavor %q: want %s or %s", engines.OneLine(string(o.Flavor)), replication.MySQL, replication.MariaDB))
	}
	_, err := o.TLS.Config()
	return errors.Join(append(errs, err)...)
}

func (o Options) address() string { return net.JoinHostPort(o.Host, strconv.Itoa(o.Port)) }

// tls returns nil when it is off.
func (o Options) tls() (*tls.Config, error) {
	c, err := o.TLS.Config()
	if c != nil && c.ServerName == "" {
		c.ServerName = o.Host
	}
	return c, err
}
