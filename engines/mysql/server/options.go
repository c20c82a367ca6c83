package server

import (
	"errors"
	"fmt"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/sql"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// Options say how to reach the local server. The zero value is one on localhost:3306
// without TLS and without a password. Access.Timeout bounds a look, and each statement
// that is not meant to wait; an answer has 4 MiB at most.
type Options struct {
	web.Access
	// ReplicationCredentials are the credentials with which replicas follow their source. They are
	// read each time that a replica gets a new source. Nil means that a replica keeps its own, and
	// a server without any cannot become a replica.
	ReplicationCredentials credentials.Source
	// Flavor is the flavor that the server must have. Empty means either.
	Flavor replication.Flavor
}

// WithDefaults is for a server of MySQL or MariaDB.
func WithDefaults(a web.Access) web.Access { return sql.WithDefaults(a) }

func (o Options) validate() error {
	err := o.Access.Validate()
	if o.Flavor != "" && o.Flavor != replication.MySQL && o.Flavor != replication.MariaDB {
		err = errors.Join(err, fmt.Errorf("flavor %q: must be %s or %s", engines.OneLine(string(o.Flavor)), replication.MySQL, replication.MariaDB))
	}
	return err
}
