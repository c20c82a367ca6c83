package foundationdb

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// Options say how to reach the database from within one pod.
type Options struct {
	// Instance is the pod's name, and locality_instance_id of its processes.
	Instance string
	// Client is the path of fdbcli, of the same major and minor version as the database. Empty
	// means fdbcli, looked for where programs are.
	Client string
	// Before is the program, with arguments, that starts the one that follows it as fdbcli. Empty
	// means fdbcli is started as it is.
	Before []string
	// ClusterFile is the path of the cluster file, which is only read. Empty:
	// /var/fdb/fdb.cluster.
	ClusterFile string
	// StateDir is a writable directory for the copy of the cluster file that fdbcli keeps current.
	// Empty means a temporary one, removed when the engine is closed.
	StateDir string
	// TLS is the TLS of the connections.
	TLS TLS
	// Timeout is the timeout of one run of fdbcli. 0 means 8 s.
	Timeout time.Duration
	// MaxBytes that one run may print. 0 means 64 MiB.
	MaxBytes int64
	// Recovered is how long the last recovery must be over before a pod goes. 0 means 10 s.
	Recovered time.Duration
	// Maintenance is for how long a zone is put under maintenance; it ends earlier when its pods
	// are back. 0 means 15 min.
	Maintenance time.Duration
}

// TLS names the files with which fdbcli proves who it is. They are not read here.
type TLS struct {
	Enabled          bool
	Certificate, Key string // paths
	CA               string // PEM; empty means the system's
	// InsecureSkipVerify accepts any certificate of the database.
	InsecureSkipVerify bool
}

func (o Options) withDefaults() Options {
	o.Client, o.ClusterFile = cmp.Or(o.Client, "fdbcli"), cmp.Or(o.ClusterFile, "/var/fdb/fdb.cluster")
	o.Timeout, o.MaxBytes = cmp.Or(o.Timeout, 8*time.Second), cmp.Or(o.MaxBytes, 64<<20)
	o.Recovered, o.Maintenance = cmp.Or(o.Recovered, 10*time.Second), cmp.Or(o.Maintenance, 15*time.Minute)
	return o
}

func (o Options) validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.Instance == "" || len(o.Instance) > 253 || strings.ContainsFunc(o.Instance, unfit) {
		wrong("instance %q: want the name of the pod", o.Instance)
	}
	if strings.ContainsRune(o.Client, filepath.Separator) && !filepath.IsAbs(o.Client) {
		wrong("client %q: must be a name, or an absolute path", o.Client)
	}
	if !filepath.IsAbs(o.ClusterFile) {
		wrong("cluster file %q: must be an absolute path", o.ClusterFile)
	}
	if o.StateDir != "" && !filepath.IsAbs(o.StateDir) {
		wrong("state directory %q: must be an absolute path", o.StateDir)
	}
	if o.Timeout < time.Second || o.Timeout > time.Minute {
		wrong("timeout %s: must be 1 s to 1 min", o.Timeout)
	}
	if o.MaxBytes < 1<<10 {
		wrong("max bytes %d: must be at least 1024", o.MaxBytes)
	}
	if o.Recovered < 0 {
		wrong("recovered %s: must be 0 or more", o.Recovered)
	}
	if o.Maintenance < time.Minute {
		wrong("maintenance %s: must be at least 1 min", o.Maintenance)
	}
	if o.TLS.Enabled && (o.TLS.Certificate == "" || o.TLS.Key == "") {
		wrong("tls: certificate %q and key %q: must be both paths, FoundationDB asks its clients for a certificate", o.TLS.Certificate, o.TLS.Key)
	}
	return errors.Join(errs...)
}

// unfit tells which characters would end a word of an fdbcli command, or begin
// another command.
func unfit(r rune) bool {
	return r <= ' ' || r > '~' || strings.ContainsRune("\"'\\;,", r)
}
