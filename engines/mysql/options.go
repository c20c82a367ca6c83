package mysql

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// Options say how to reach the local server and the agents of the others. The zero
// value is a server on localhost:3306 without TLS and without a password.
type Options struct {
	// Host and Port of the local server. Empty and 0: localhost and 3306.
	Host string
	Port int
	TLS  web.TLS
	// Credentials are asked for each new connection. Nil: anonymous.
	Credentials credentials.Source
	// ReplicationCredentials are those with which replicas follow their source; asked
	// each time that one is given a new source. Nil: a replica keeps its own, and
	// who has none cannot be made one.
	ReplicationCredentials credentials.Source
	// Peers reach the agents of the other members. Nil: there are none.
	Peers engines.Peers
	// Domain follows members' names in the DNS, with the dot before it. It is used
	// while no replica tells how it reaches the one that it follows. Empty: nothing does.
	Domain string
	// Failover says who moves the role of primary. Empty: the agents; External: another
	// manager, which is waited for; a URL: that manager is asked there, and waited for.
	Failover string
	// Flavor that the server must be of. Empty: either.
	Flavor Flavor

	// MaxLag of a replica that counts as caught up. 0: 10 s.
	MaxLag time.Duration
	// Timeout bounds a look, and each statement that is not meant to wait. 0: 5 s.
	Timeout time.Duration
	// MaxBytes bounds the answer to one statement. 0: 4 MiB.
	MaxBytes int64
	// Limits of switchovers.
	Limits Limits
}

func (o Options) withDefaults() Options {
	if o.Host == "" {
		o.Host = "localhost"
	}
	if o.Port == 0 {
		o.Port = 3306
	}
	if o.MaxLag == 0 {
		o.MaxLag = 10 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 4 << 20
	}
	o.Limits = o.Limits.withDefaults()
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
	if o.Timeout < 0 || o.MaxLag < 0 || o.MaxBytes < 0 {
		errs = append(errs, errors.New("timeout, max lag, max bytes: want positive values"))
	}
	if o.Flavor != "" && o.Flavor != MySQL && o.Flavor != MariaDB {
		errs = append(errs, fmt.Errorf("flavor %q: want %s or %s", engines.OneLine(string(o.Flavor)), MySQL, MariaDB))
	}
	if o.Failover != "" && o.Failover != External {
		_, err := hookURL(o.Failover)
		errs = append(errs, err)
	}
	_, err := o.TLS.Config()
	return errors.Join(append(errs, err)...)
}

func (o Options) address() string { return net.JoinHostPort(o.Host, strconv.Itoa(o.Port)) }

// tls answers nil when it is off.
func (o Options) tls() (*tls.Config, error) {
	c, err := o.TLS.Config()
	if c != nil && c.ServerName == "" {
		c.ServerName = o.Host
	}
	return c, err
}
