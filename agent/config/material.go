package config

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

const (
	// GossipKeyBytes is the size of one gossip key.
	GossipKeyBytes = 32
	// MaxGossipKeys bounds the keys that are valid at the same time.
	MaxGossipKeys = 3

	maxFileBytes = 1 << 20
)

// ErrIncomplete means that files do not exist yet. Any other error of Read means that a file exists
// and is wrong.
var ErrIncomplete = errors.New("configuration incomplete")

// ErrUnchanged says that the files are those that were read before.
var ErrUnchanged = errors.New("nothing has changed")

// Material is the content of Dir, read at one moment and checked.
type Material struct {
	File File
	// GossipKeys are 32 bytes each, the first is the one to send with. Empty only if Read was
	// called with insecure.
	GossipKeys [][]byte
	// Certificate serves gRPC; nil only where it is optional.
	Certificate *tls.Certificate
	ClientCAs   *x509.CertPool
	// Fingerprint changes whenever any of the files changes.
	Fingerprint [sha256.Size]byte
}

// Read loads the directory. With insecure, keys and certificates are not asked for (and not read).
// The files of a mounted Secret are swapped together, so a mixture of old and new ones is possible
// only for an instant; it shows as a key that does not belong to its certificate and the next Read
// is right. It returns ErrUnchanged if the files have the fingerprint since, so that reading them
// often costs little.
func Read(dir string, insecure bool, since [sha256.Size]byte) (Material, error) {
	var m Material
	files := []string{KeyConfig}
	if !insecure {
		files = append(files, KeyGossip, KeyCert, KeyKey, KeyCA)
	}
	content := map[string][]byte{}
	var missing []string
	sum := sha256.New()
	for _, name := range files {
		data, err := readBounded(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, name)
		case err != nil:
			return m, fmt.Errorf("read %s: %w", name, err)
		}
		content[name] = data
		fmt.Fprintf(sum, "%s %d\n", name, len(data))
		sum.Write(data)
	}
	if len(missing) > 0 {
		return m, fmt.Errorf("%w: %s has no %v", ErrIncomplete, dir, missing)
	}
	sum.Sum(m.Fingerprint[:0])
	if m.Fingerprint == since {
		return m, ErrUnchanged
	}

	var err error
	if m.File, err = ParseFile(content[KeyConfig]); err != nil {
		return m, fmt.Errorf("%s: %w", KeyConfig, err)
	}
	if insecure {
		return m, nil
	}
	if m.GossipKeys, err = ParseGossipKeys(content[KeyGossip]); err != nil {
		return m, fmt.Errorf("%s: %w", KeyGossip, err)
	}
	certificate, err := tls.X509KeyPair(content[KeyCert], content[KeyKey])
	if err != nil {
		return m, fmt.Errorf("%s and %s: %w", KeyCert, KeyKey, err)
	}
	m.Certificate = &certificate
	m.ClientCAs = x509.NewCertPool()
	if !m.ClientCAs.AppendCertsFromPEM(content[KeyCA]) {
		return m, fmt.Errorf("%s: holds no PEM certificate", KeyCA)
	}
	return m, nil
}

// ParseFile decodes agent.json and checks what every engine needs.
func ParseFile(data []byte) (File, error) {
	var f File
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&f); err != nil {
		return f, fmt.Errorf("not the expected JSON: %w", err)
	}
	switch {
	case f.ClusterUID == "":
		return f, errors.New("clusterUID is empty; it must be the UID of the DatabaseCluster")
	case f.Engine == "":
		return f, errors.New("engine is empty; it must name the kind of database, for example Solr")
	case f.Connection.Port < 0 || f.Connection.Port > 65535:
		return f, fmt.Errorf("connection.port is %d; it must be between 1 and 65535, or 0 for the default", f.Connection.Port)
	case f.Drain.TimeoutSeconds < 0:
		return f, fmt.Errorf("drain.timeoutSeconds is %d; it must be 0 (no own limit) or more", f.Drain.TimeoutSeconds)
	}
	return f, nil
}

// ParseGossipKeys splits the content of gossip.key.
func ParseGossipKeys(data []byte) ([][]byte, error) {
	if n := len(data); n == 0 || n%GossipKeyBytes != 0 || n > MaxGossipKeys*GossipKeyBytes {
		return nil, fmt.Errorf("%d bytes; it must hold one to %d keys of %d raw bytes each", n, MaxGossipKeys, GossipKeyBytes)
	}
	return slices.Collect(slices.Chunk(slices.Clone(data), GossipKeyBytes)), nil
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("larger than %d bytes", maxFileBytes)
	}
	return data, nil
}
