package foundationdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rollcall-dev/rollcall/engines"
)

// clusterFile keeps a copy of the database's cluster file for fdbcli, which
// rewrites the file that it is given when the coordinators have changed. The
// file itself is often a read-only mount, and never written here.
//
// Invariant: a source that is not a cluster file, or a torn one, changes nothing.
type clusterFile struct {
	source string
	dir    string
	own    bool // dir is ours to remove

	mu sync.Mutex
}

const maxClusterFile = 64 << 10

// connection is a cluster file's one line, in parts.
type connection struct{ description, id, coordinators string }

// parseConnection reads description:id@address,address..., with comments above it.
func parseConnection(text string) (connection, error) {
	var line string
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		if line != "" {
			return connection{}, errors.New("more than one line that is no comment")
		}
		line = l
	}
	key, coordinators, ok := strings.Cut(line, "@")
	description, id, both := strings.Cut(key, ":")
	if !ok || !both || description == "" || id == "" || coordinators == "" {
		return connection{}, errors.New("must be description:id@address:port,address:port")
	}
	if strings.ContainsFunc(line, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return connection{}, errors.New("must be printable characters without spaces")
	}
	return connection{description, id, coordinators}, nil
}

func newClusterFile(o Options) (*clusterFile, error) {
	c := &clusterFile{source: o.ClusterFile, dir: o.StateDir}
	var err error
	if c.dir == "" {
		c.dir, err = os.MkdirTemp("", "rollcall-fdb-")
		c.own = true
	} else {
		err = os.MkdirAll(c.dir, 0o700)
	}
	if err == nil && o.TLS.CA != "" {
		err = os.WriteFile(c.authorities(), []byte(o.TLS.CA), 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("directory for a copy of the cluster file: %w", err), c.close())
	}
	return c, nil
}

// authorities is where the certificates are that the database's is verified with.
func (c *clusterFile) authorities() string { return filepath.Join(c.dir, "ca.crt") }

func (c *clusterFile) path() string { return filepath.Join(c.dir, "fdb.cluster") }

// ready returns the path of a copy that fdbcli may use. It is made again when the source has
// changed: until then fdbcli's own changes are the newer ones.
func (c *clusterFile) ready() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, err := readSmall(c.source)
	if err != nil {
		return "", fmt.Errorf("cluster file: %w", err)
	}
	_, current := c.copied()
	last, lastErr := readSmall(c.origin())
	if text == last && lastErr == nil && current == nil {
		return c.path(), nil
	}
	if _, err := parseConnection(text); err != nil {
		if current == nil && lastErr == nil {
			return c.path(), nil // somebody writes it just now
		}
		return "", fmt.Errorf("cluster file %s: %w", c.source, err)
	}
	for _, path := range []string{c.path(), c.origin()} {
		if err := replaceFile(path, text); err != nil {
			return "", fmt.Errorf("copy of the cluster file: %w", err)
		}
	}
	return c.path(), nil
}

// origin is the source as it was copied: a restarted agent, too, knows that its copy
// is the newer one.
func (c *clusterFile) origin() string { return c.path() + ".source" }

func replaceFile(path, text string) error {
	next := path + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// copied reads the copy as fdbcli left it.
func (c *clusterFile) copied() (connection, error) {
	text, err := readSmall(c.path())
	if err != nil {
		return connection{}, err
	}
	return parseConnection(text)
}

// belongs reports whether an answer is of this database. Its coordinators and id change; who gives
// it another description changes the file too.
func (c *clusterFile) belongs(connectionString string) error {
	answered, err := parseConnection(connectionString)
	if err != nil {
		return fmt.Errorf("connection string of the status: %w", err)
	}
	ours, err := c.copied()
	if err != nil {
		return fmt.Errorf("copy of the cluster file: %w", err)
	}
	if answered.description != ours.description {
		return fmt.Errorf("%w: it calls itself %q, the cluster file %q", ErrWrongDatabase, engines.OneLine(answered.description), engines.OneLine(ours.description))
	}
	return nil
}

func (c *clusterFile) close() error {
	if !c.own {
		return nil
	}
	return os.RemoveAll(c.dir)
}

func readSmall(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxClusterFile {
		return "", fmt.Errorf("%s: must be a file of at most %d bytes", path, maxClusterFile)
	}
	data, err := os.ReadFile(path)
	return string(data), err
}
