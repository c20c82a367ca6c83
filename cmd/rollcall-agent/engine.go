package main

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/mysql"
	"github.com/rollcall-dev/rollcall/engines/opensearch"
	"github.com/rollcall-dev/rollcall/engines/solr"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// source is what adapters need beside a configuration.
type source struct {
	// credentials is the directory of the database's credentials, which adapters read
	// anew when they need them; state one that lives as long as the pod, or empty.
	credentials, state string
	pod                string
}

// engineFrom answers what makes the adapter that a configuration asks for.
func engineFrom(from source) func(config.File, engines.Peers) (engines.Engine, error) {
	return func(f config.File, peers engines.Peers) (engines.Engine, error) {
		dir := from.credentials
		switch f.Engine {
		case "Solr":
			return solrEngine(f.Connection, dir)
		case "OpenSearch":
			return openSearchEngine(f.Connection, dir)
		case string(mysql.MySQL), string(mysql.MariaDB):
			return sqlEngine(mysql.Flavor(f.Engine), f.Connection, dir, peers)
		case "FoundationDB":
			return foundationDBEngine(f.Connection, from)
		default:
			return nil, fmt.Errorf("engine %q is not supported by this version; supported: Solr, OpenSearch, MySQL, MariaDB, FoundationDB", f.Engine)
		}
	}
}

func solrEngine(c config.Connection, dir string) (engines.Engine, error) {
	return solr.New(solr.Options{
		Host:        c.Host,
		Port:        c.Port,
		Credentials: credentials.FromDir(dir),
		TLS:         tlsOf(c.TLS),
		// On unless it is turned off: what an evacuation moved away would else never
		// come back.
		BalanceAfterUpdate: c.BalanceAfterUpdate == nil || *c.BalanceAfterUpdate,
	})
}

func openSearchEngine(c config.Connection, dir string) (engines.Engine, error) {
	return opensearch.New(opensearch.Options{Host: c.Host, Port: c.Port, Credentials: credentials.FromDir(dir), TLS: tlsOf(c.TLS)})
}

func sqlEngine(flavor mysql.Flavor, c config.Connection, dir string, peers engines.Peers) (engines.Engine, error) {
	return mysql.New(mysql.Options{
		Host: c.Host, Port: c.Port, TLS: tlsOf(c.TLS), Flavor: flavor, Peers: peers, Failover: c.Failover,
		Credentials: credentials.FromDir(dir), ReplicationCredentials: credentials.FromFiles(dir, "replication-"),
		Domain: podDomain(), MaxLag: time.Duration(c.MaxLagSeconds) * time.Second,
	})
}

func tlsOf(c config.ConnectionTLS) web.TLS {
	return web.TLS{Enabled: c.Enabled, CA: c.CA, ServerName: c.ServerName, InsecureSkipVerify: c.InsecureSkipVerify}
}
