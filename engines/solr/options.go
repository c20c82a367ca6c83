package solr

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

// Options say how to reach the local Solr node. The zero value is a Solr on
// localhost:8983 without TLS and without authentication.
type Options struct {
	// Host and Port of the local node. Empty and 0: localhost and 8983.
	Host string
	Port int
	TLS  TLS
	// Credentials are asked before every request, so that a changed password is
	// used at once. Nil: anonymous.
	Credentials Credentials

	// Timeout bounds each reading request. 0: 5 s.
	Timeout time.Duration
	// WriteTimeout bounds each request that changes something; moving leaders of
	// one collection takes about 3 s. 0: 30 s.
	WriteTimeout time.Duration
	// MaxBytes bounds the body of each answer. 0: 32 MiB, some 90,000 replicas.
	MaxBytes int64
	// Parallel is how many collections are worked on at once. 0: 16.
	Parallel int
	// Poll is how often a change is looked for while it is waited for. 0: 50 ms.
	Poll time.Duration
	// BalanceAfterUpdate: Restore of an evacuation redistributes replicas over the
	// live nodes (Solr 9.3 and later; older ones are left alone).
	BalanceAfterUpdate bool
}

// TLS between the agent and Solr. Certificates are verified unless
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
		o.Port = 8983
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = 30 * time.Second
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 32 << 20
	}
	if o.Parallel == 0 {
		o.Parallel = 16
	}
	if o.Poll == 0 {
		o.Poll = 50 * time.Millisecond
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
	for name, negative := range map[string]bool{
		"timeout": o.Timeout < 0, "write timeout": o.WriteTimeout < 0, "poll": o.Poll < 0,
		"max bytes": o.MaxBytes < 0, "parallel": o.Parallel < 0,
	} {
		if negative {
			errs = append(errs, fmt.Errorf("%s: want a positive value", name))
		}
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
