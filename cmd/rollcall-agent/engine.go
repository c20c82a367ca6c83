package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
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
	// address is the pod's own.
	address netip.Addr
	// config is the directory of the agent's own key, and self its own program: self starts fdbcli
	// without access to config. Empty means that fdbcli has access.
	config, self string
	log          *slog.Logger
}

// engineFrom returns what makes the adapter that a configuration asks for.
func engineFrom(from source) func(config.File, engines.Peers) (engines.Engine, error) {
	return func(f config.File, peers engines.Peers) (engines.Engine, error) {
		if f.Engine == "FoundationDB" {
			return foundationDBEngine(f.Connection, secretFiles{dir: from.credentials, withheld: f.Withheld(from.secret)}, from)
		}
		files := from.files(f)
		access, err := from.access(f.Connection, files)
		if err != nil {
			return nil, err
		}
		switch f.Engine {
		case "Solr":
			return solr.New(solr.Options{Access: access})
		case "OpenSearch":
			return opensearch.New(opensearch.Options{Access: access})
		case string(mysql.MySQL), string(mysql.MariaDB):
			return sqlEngine(mysql.Flavor(f.Engine), access, f.Connection, files, from.pod, peers)
		case galera.Name:
			return galera.New(galera.Options{Access: access, Peers: peers})
		case zookeeper.Name:
			return zooKeeperEngine(f.Connection, access, from.pod, peers)
		default:
			return nil, fmt.Errorf("engine %q is not supported by this version; supported: Solr, OpenSearch, MySQL, MariaDB, FoundationDB, Galera, ZooKeeper", f.Engine)
		}
	}
}

// secretFiles are those of one Secret.
type secretFiles struct {
	// prefix begins their names in dir.
	dir, prefix string
	// withheld is why they must not be used, or empty.
	withheld string
	// from is the Secret in words; empty means that its name is not known.
	from string
}

// files returns those of the mounted Secret, or, where it may not be used or there is none, those of the
// Secret that was named after the pod was made.
func (from source) files(f config.File) secretFiles {
	name, files := from.secret, secretFiles{dir: from.credentials}
	if f.Copied != "" && !f.Usable(from.secret) {
		name, files = f.Copied, secretFiles{dir: from.config, prefix: config.CopiedPrefix}
	}
	if files.withheld = f.Withheld(name); name != "" {
		files.from = "Secret " + name
	}
	return files
}

// user returns the credentials in the files.
func (s secretFiles) user(prefix string) credentials.Source {
	read := credentials.FromFiles(s.dir, s.prefix+prefix)
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

func sqlEngine(flavor mysql.Flavor, access web.Access, c config.Connection, files secretFiles, pod string, peers engines.Peers) (engines.Engine, error) {
	return mysql.New(mysql.Options{
		Pod: pod, Primary: primaryOf(c.Primary),
		Access: access, Flavor: flavor, ReplicationCredentials: files.user("replication-"),
		Peers: peers, Failover: c.Failover, Domain: podDomain(), MaxLag: time.Duration(c.MaxLagSeconds) * time.Second,
	})
}

// zooKeeperEngine has no credentials: what it asks every client may ask.
func zooKeeperEngine(c config.Connection, access web.Access, pod string, peers engines.Peers) (engines.Engine, error) {
	access.Credentials, access.CredentialsFrom = nil, ""
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

func (from source) access(c config.Connection, files secretFiles) (web.Access, error) {
	secure, err := from.tls(c.TLS)
	access := web.Access{Host: c.Host, Port: c.Port, Credentials: files.user(""), CredentialsFrom: files.from, TLS: secure}
	if config.OwnHost(c.Host) {
		access.Dial = web.OwnPod(from.address)
	}
	return access, err
}

// tls reads the key of the client's certificate, which the coordinator changes together with the
// configuration.
func (from source) tls(c config.ConnectionTLS) (web.TLS, error) {
	out := web.TLS{Enabled: c.Enabled, CA: c.CA, ServerName: c.ServerName, InsecureSkipVerify: c.InsecureSkipVerify}
	if c.Cert == "" {
		return out, nil
	}
	key, err := os.ReadFile(filepath.Join(from.config, config.KeyClientKey))
	if err != nil {
		return web.TLS{}, fmt.Errorf("connection.tls.clientSecret: %w", err)
	}
	out.Cert, out.Key = c.Cert, credentials.NewSecret(string(key))
	return out, nil
}
