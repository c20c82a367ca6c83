package opensearch

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"
)

// Options say how to reach the local OpenSearch node. The zero value is a node on
// localhost:9200 without TLS and without authentication.
type Options struct {
	// Host and Port of the local node. Empty and 0: localhost and 9200.
	Host string
	Port int
	TLS  TLS
	// Credentials are asked before every request, so that a changed password is
	// used at once. Nil: anonymous.
	Credentials Credentials

	// Timeout bounds each reading request. 0: 5 s.
	Timeout time.Duration
	// WriteTimeout bounds each request that changes something. 0: 30 s.
	WriteTimeout time.Duration
	// MaxBytes bounds the body of each answer. 0: 64 MiB, some 300,000 shards.
	MaxBytes int64
}

// TLS between the agent and OpenSearch. Certificates are verified unless
// InsecureSkipVerify says otherwise.
type TLS struct {
	Enabled bool
	// CA is PEM; empty: the system's roots.
	CA string
	// ServerName that the certificate must carry; empty: Options.Host.
	ServerName         string
	InsecureSkipVerify bool
}

func (o Options) withDefaults() Options {
	if o.Host == "" {
		o.Host = "localhost"
	}
	if o.Port == 0 {
		o.Port = 9200
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = 30 * time.Second
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 64 << 20
	}
	return o
}

func (o Options) validate() error {
	var errs []error
	if o.Port < 1 || o.Port > 65535 {
		errs = append(errs, fmt.Errorf("port %d: want 1 to 65535", o.Port))
	}
	if !plainHost(o.Host) {
		errs = append(errs, fmt.Errorf("host %q: want a host name or an IP address", o.Host))
	}
	if o.Timeout < 0 || o.WriteTimeout < 0 || o.MaxBytes < 0 {
		errs = append(errs, errors.New("timeout, write timeout, max bytes: want positive values"))
	}
	if !o.TLS.Enabled && o.TLS != (TLS{}) {
		errs = append(errs, errors.New("tls: options are given but tls is not enabled"))
	}
	return errors.Join(errs...)
}

func plainHost(host string) bool {
	u, err := url.Parse("http://" + net.JoinHostPort(host, "1"))
	return err == nil && u.Hostname() == host && u.Path == "" && u.RawQuery == "" && u.User == nil
}

// base is the address of the node, without a path.
func (o Options) base() url.URL {
	scheme := "http"
	if o.TLS.Enabled {
		scheme = "https"
	}
	return url.URL{Scheme: scheme, Host: net.JoinHostPort(o.Host, strconv.Itoa(o.Port))}
}

// config answers nil when TLS is off.
func (t TLS) config() (*tls.Config, error) {
	if !t.Enabled {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName, InsecureSkipVerify: t.InsecureSkipVerify}
	if t.CA != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(t.CA)) {
			return nil, errors.New("tls: ca: want at least one PEM certificate")
		}
	}
	return c, nil
}
