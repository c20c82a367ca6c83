package mysql

import (
	"cmp"
	"context"
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
	// ReplicationCredentials are the credentials with which replicas follow their source. Nil means
	// that a replica keeps its own, and a server without any cannot become a replica.
	ReplicationCredentials credentials.Source
	// Flavor is the flavor that the server must have. Empty means either.
	Flavor Flavor
	// Peers reaches the agents of the other members. Nil means that there are none.
	Peers engines.Peers
	// Domain is the DNS domain behind members' names, with a leading dot. It is used while no
	// replica shows how it reaches its source. Empty means that there is none.
	Domain string
	// Resolve looks up a name. Nil, for New, means in the DNS.
	Resolve func(ctx context.Context, host string) error
	// Failover says who moves the role of primary. Empty means the agents. External means another
	// manager, for which the agents wait. A URL means another manager that is asked there, and for
	// which the agents wait.
	Failover string
	// Primary is what the primary does before it stops. Unknown means by the topology.
	Primary engines.Primary
	// Pod is the name of the local pod. Empty means that it is that of the server.
	Pod string
	// MaxLag is the most that a replica may lag that counts as caught up. 0 means 10 s.
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

// External, as Options.Failover, means that another manager owns the topology.
const External = "External"

// Flavor is the flavor of the server.
type Flavor = replication.Flavor

// The flavors.
const (
	MySQL   = replication.MySQL
	MariaDB = replication.MariaDB
)
