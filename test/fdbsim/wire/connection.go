package wire

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Connection is a connection string: description:id@address,address.
type Connection struct {
	Description string
	ID          string
	Addresses   []string
}

var (
	// ErrNoClusterFile and ErrConnectionString are the two ways in which a cluster file is of no use.
	ErrNoClusterFile    = errors.New("no cluster file")
	ErrConnectionString = errors.New("invalid connection string")
)

var connectionForm = regexp.MustCompile(`^([A-Za-z0-9_]+):([A-Za-z0-9]+)@([^@\s]+)$`)

// ParseConnection reads the contents of a cluster file.
func ParseConnection(text string) (Connection, error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := connectionForm.FindStringSubmatch(line)
		if m == nil {
			return Connection{}, ErrConnectionString
		}
		c := Connection{Description: m[1], ID: m[2]}
		for a := range strings.SplitSeq(m[3], ",") {
			a = strings.TrimSuffix(a, ":tls")
			if host, port, ok := strings.Cut(a, ":"); !ok || host == "" || port == "" {
				return Connection{}, ErrConnectionString
			}
			c.Addresses = append(c.Addresses, a)
		}
		return c, nil
	}
	return Connection{}, ErrConnectionString
}

func (c Connection) String() string { return c.Key() + "@" + strings.Join(c.Addresses, ",") }

// Key is the part that says which database it is.
func (c Connection) Key() string { return c.Description + ":" + c.ID }

// ReadClusterFile reads a cluster file.
func ReadClusterFile(path string) (Connection, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Connection{}, fmt.Errorf("%w: %w", ErrNoClusterFile, err)
	}
	return ParseConnection(string(data))
}

// WriteClusterFile puts a connection string into a file unless it is there. Nobody ever reads half of it.
func WriteClusterFile(path, connection string) error {
	if have, err := os.ReadFile(path); err == nil && string(have) == connection+"\n" {
		return nil
	}
	next, err := os.CreateTemp(filepath.Dir(path), ".cluster-*")
	if err != nil {
		return err
	}
	defer os.Remove(next.Name())
	_, err = next.WriteString(connection + "\n")
	if err := errors.Join(err, next.Chmod(0o666), next.Close()); err != nil {
		return err
	}
	return os.Rename(next.Name(), path)
}
