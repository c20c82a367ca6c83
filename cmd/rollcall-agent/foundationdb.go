package main

import (
	"errors"
	"path/filepath"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/confine"
	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/foundationdb"
)

// hidden returns the directories that fdbcli does not need: that of the agent's own key, and
// without TLS that of the database's credentials.
func (from source) hidden(tls bool) []string {
	if tls {
		return []string{from.config}
	}
	return []string{from.config, from.credentials}
}

// confined returns the command prefix that starts fdbcli without access to these directories, or
// nothing if the kernel cannot do that.
func (from source) confined(hidden []string) []string {
	if from.self == "" {
		return nil
	}
	before := confine.Prefix(from.self, hidden...)
	if err := confine.Try(before, from.self, "-version"); err != nil {
		from.log.Warn("fdbcli runs with the agent's keys in its reach: it could not be confined", "why", err)
		return nil
	}
	return before
}

// foundationDBEngine returns the adapter of FoundationDB. Certificate and key are those of the
// database's Secret.
func foundationDBEngine(c config.Connection, files secretFiles, from source) (engines.Engine, error) {
	if c.TLS.ServerName != "" {
		return nil, errors.New("connection.tls.serverName: FoundationDB verifies no name; leave it out")
	}
	if c.TLS.Cert != "" {
		return nil, errors.New("connection.tls.clientSecret: FoundationDB's certificate is in credentialsSecret; leave it out")
	}
	options := foundationdb.Options{
		Instance: from.pod, Client: c.Client, ClusterFile: c.ClusterFile,
		TLS: foundationdb.TLS{Enabled: c.TLS.Enabled, CA: c.TLS.CA, InsecureSkipVerify: c.TLS.InsecureSkipVerify},
	}
	if options.Client == "" {
		options.Client = filepath.Join(config.ClientDir, "fdbcli")
	}
	if options.ClusterFile == "" {
		options.ClusterFile = filepath.Join(config.ClientDir, "fdb.cluster")
	}
	options.Before = from.confined(from.hidden(c.TLS.Enabled))
	if from.state != "" {
		options.StateDir = filepath.Join(from.state, "foundationdb")
	}
	if c.TLS.Enabled {
		if files.withheld != "" {
			return nil, errors.New(files.withheld)
		}
		options.TLS.Certificate, options.TLS.Key = filepath.Join(files.dir, "tls.crt"), filepath.Join(files.dir, "tls.key")
	}
	return foundationdb.New(options)
}
