package main

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/galera"
	"github.com/rollcall-dev/rollcall/engines/mysql"
	"github.com/rollcall-dev/rollcall/engines/opensearch"
	"github.com/rollcall-dev/rollcall/engines/solr"
	"github.com/rollcall-dev/rollcall/engines/web"
	"github.com/rollcall-dev/rollcall/engines/zookeeper"
)

// source is what adapters need besides a configuration.
type source struct {
	// credentials is the directory of the database's credentials, which adapters read again when
	// they need them; state one that lives as long as the pod, or empty.
	credentials, state string
	// secret is the name of the Secret whose files are in credentials, where it is known.
	secret string
	pod    string
	// config is the directory of the agent's own key, and self its own program: self starts fdbcli
	// without access to config. Empty means that fdbcli has access.
	config, self string
	log          *slog.Logger
}

// engineFrom returns what makes the adapter that a configuration asks for.
func engineFrom(from source) func(config.File, engines.Peers) (engines.Engine, error) {
	return func(f config.File, peers engines.Peers) (engines.Engine, error) {
		files := secretFiles{from.credentials, f.Withheld(from.secret)}
		switch f.Engine {
		case "Solr":
			return solrEngine(f.Connection, files)
		case "OpenSearch":
			return openSearchEngine(f.Connection, files)
		case string(mysql.MySQL), string(mysql.MariaDB):
			return sqlEngine(mysql.Flavor(f.Engine), f.Connection, files, from.pod, peers)
		case galera.Name:
			return galera.New(galera.Options{Access: accessOf(f.Connection, files), Peers: peers})
		case zookeeper.Name:
			return zooKeeperEngine(f.Connection, from.pod, peers)
		case "FoundationDB":
			return foundationDBEngine(f.Connection, files, from)
		default:
			return nil, fmt.Errorf("engine %q is not supported by this version; supported: Solr, OpenSearch, MySQL, MariaDB, FoundationDB, Galera, ZooKeeper", f.Engine)
		}
	}
}

// secretFiles are those of the mounted Secret, and why they must not be used, or empty.
type secretFiles struct{ dir, withheld string }

// user returns the credentials in the files.
func (s secretFiles) user(prefix string) credentials.Source {
	read := credentials.FromFiles(s.dir, prefix)
	if s.withheld == "" {
		return read
	}
	return func() (string, credentials.Secret, error) {
		if user, _, err := read(); user == "" && err == nil {
			return "", credentials.Secret{}, nil // there is nothing that could be withheld
		}
		return "", credentials.Secret{}, errors.New(s.withheld)
	}
}

func solrEngine(c config.Connection, files secretFiles) (engines.Engine, error) {
	return solr.New(solr.Options{Access: accessOf(c, files)})
}

func openSearchEngine(c config.Connection, files secretFiles) (engines.Engine, error) {
	return opensearch.New(opensearch.Options{Access: accessOf(c, files)})
}

func sqlEngine(flavor mysql.Flavor, c config.Connection, files secretFiles, pod string, peers engines.Peers) (engines.Engine, error) {
	return mysql.New(mysql.Options{
		Pod: pod, Primary: primaryOf(c.Primary),
		Access: accessOf(c, files), Flavor: flavor, ReplicationCredentials: files.user("replication-"),
		Peers: peers, Failover: c.Failover, Domain: podDomain(), MaxLag: time.Duration(c.MaxLagSeconds) * time.Second,
	})
}

// zooKeeperEngine has no credentials: what it asks every client may ask.
func zooKeeperEngine(c config.Connection, pod string, peers engines.Peers) (engines.Engine, error) {
	access := accessOf(c, secretFiles{})
	access.Credentials = nil
	return zookeeper.New(zookeeper.Options{Access: access, AdminPort: c.AdminPort, Pod: pod, Peers: peers})
}

// primaryOf returns what the configuration says of the primary. Hold is the coordinator's: a pod that
// goes all the same does what fits the topology.
func primaryOf(text string) engines.Primary {
	switch text {
	case "Switchover":
		return engines.Switchover
	case "RestartInPlace":
		return engines.RestartInPlace
	}
	return engines.PrimaryUnknown
}

func accessOf(c config.Connection, files secretFiles) web.Access {
	return web.Access{Host: c.Host, Port: c.Port, Credentials: files.user(""), TLS: tlsOf(c.TLS)}
}

func tlsOf(c config.ConnectionTLS) web.TLS {
	return web.TLS{Enabled: c.Enabled, CA: c.CA, ServerName: c.ServerName, InsecureSkipVerify: c.InsecureSkipVerify}
}
