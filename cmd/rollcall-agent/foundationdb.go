package main

import (
	"errors"
	"path/filepath"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/foundationdb"
)

// foundationDBEngine: certificate and key are those of the database's Secret.
func foundationDBEngine(c config.Connection, files secretFiles, from source) (engines.Engine, error) {
	if c.TLS.ServerName != "" {
		return nil, errors.New("connection.tls.serverName: FoundationDB verifies no name; leave it out")
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
