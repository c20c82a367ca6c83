package mysql

import (
	"cmp"
	"errors"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/server"
	"github.com/rollcall-dev/rollcall/engines/mysql/switchover"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// Options say how to reach the local server and the agents of the others. The zero
// value is a server on localhost:3306 without TLS and without a password.
type Options struct {
	web.Access
	// ReplicationCredentials are those with which replicas follow their source. Nil means a replica
	// keeps its own, and whoever has none cannot be made one.
	ReplicationCredentials credentials.Source
	// Flavor that the server must be of. Empty means either.
	Flavor Flavor
	// Peers reach the agents of the other members. Nil means there are none.
	Peers engines.Peers
	// Domain follows members' names in the DNS, with the dot before it. It is used while no replica
	// tells how it reaches the one that it follows. Empty means nothing does.
	Domain string
	// Failover says who moves the role of primary. Empty means the agents; External: another
	// manager, which is waited for; a URL: that manager is asked there, and waited for.
	Failover string
	// MaxLag is the max lag of a replica that counts as caught up. 0 means 10 s.
	MaxLag time.Duration
	// Limits are the limits of switchovers.
	Limits switchover.Limits
}

func (o Options) withDefaults() Options {
	o.Access = server.WithDefaults(o.Access)
	o.MaxLag = cmp.Or(o.MaxLag, 10*time.Second)
	o.Limits = o.Limits.WithDefaults()
	return o
}

func (o Options) validate() error {
	if o.MaxLag < 0 {
		return errors.New("max lag: must be a positive value")
	}
	if o.Failover != "" && o.Failover != External {
		_, err := hookURL(o.Failover)
		return err
	}
	return nil
}

func serverOptions(o Options) server.Options {
	return server.Options{Access: o.Access, ReplicationCredentials: o.ReplicationCredentials, Flavor: o.Flavor}
}

// External as Options.Failover: another manager owns the topology.
const External = "External"

// Flavor is the flavor of the server.
type Flavor = replication.Flavor

// The flavors.
const (
	MySQL   = replication.MySQL
	MariaDB = replication.MariaDB
)
