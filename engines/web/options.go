package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/engines/credentials"
)

// Access says how to reach one server, and how much its answers may cost.
type Access struct {
	// Host and Port are those of the server. Before WithDefaults, empty and 0 mean the database's
	// defaults.
	Host string
	Port int
	TLS  TLS
	// Credentials is called before every request, so that a changed password is used at once. Nil
	// means anonymous.
	Credentials credentials.Source
	// CredentialsFrom says in words where people put the credentials, for errors. Empty means that it
	// is not known.
	CredentialsFrom string
	// Timeout bounds each reading request. 0 means 5 s.
	Timeout time.Duration
	// WriteTimeout bounds each request that changes something. 0 means 30 s.
	WriteTimeout time.Duration
	// MaxBytes bounds the body of each answer. 0 means the size of the database's largest
	// legitimate answer.
	MaxBytes int64
	// Dial connects to an address. Nil means over the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// WithDefaults fills in the defaults for a database that listens on the port of this host, and
// whose largest legitimate answer has this many bytes.
func (a Access) WithDefaults(port int, bytes int64) Access {
	a.Host, a.Port = cmp.Or(a.Host, "localhost"), cmp.Or(a.Port, port)
	a.Timeout, a.WriteTimeout = cmp.Or(a.Timeout, 5*time.Second), cmp.Or(a.WriteTimeout, 30*time.Second)
	a.MaxBytes = cmp.Or(a.MaxBytes, bytes)
	return a
}

// Options are the options of a client.
type Options struct {
	Access
	// Server is the name of the database in errors, in lower case.
	Server string
	// Connections is how many connections are kept open.
	Connections int
	// Advise adds to errors what a person most likely has to change in the DatabaseCluster.
	Advise bool
	// Words finds the server's name of the failure and its message in the body of a refusal. It
	// must ignore anything but the database's own form, such as a proxy's page, which may repeat
	// what was sent.
	Words func(body []byte) (kind, message string)
}

// TLS says how the agent and the server use TLS. Certificates are verified unless
// InsecureSkipVerify says otherwise.
type TLS struct {
	Enabled bool
	// CA is a PEM bundle; empty means the system's roots.
	CA string
	// ServerName is the name that the certificate must have; empty means the host.
	ServerName         string
	InsecureSkipVerify bool
	// Cert and Key are what the agent shows of itself to a server that asks for a certificate, PEM.
	// Empty means nothing.
	Cert string
	Key  credentials.Secret
}

// Validate returns an error if the access, which has its defaults, is invalid.
func (a Access) Validate() error {
	var errs []error
	if a.Port < 1 || a.Port > 65535 {
		errs = append(errs, fmt.Errorf("port %d: must be 1 to 65535", a.Port))
	}
	if !plainHost(a.Host) {
		errs = append(errs, fmt.Errorf("host %q: must be a host name or an IP address", a.Host))
	}
	if a.Timeout <= 0 || a.WriteTimeout < 0 || a.MaxBytes <= 0 {
		errs = append(errs, errors.New("timeouts, max bytes: must be positive values"))
	}
	_, err := a.TLS.Config()
	return errors.Join(append(errs, err)...)
}

// Address returns the host and port of the server.
func (a Access) Address() string { return net.JoinHostPort(a.Host, strconv.Itoa(a.Port)) }

func plainHost(host string) bool {
	u, err := url.Parse("http://" + net.JoinHostPort(host, "1"))
	return err == nil && u.Hostname() == host && u.Path == "" && u.RawQuery == "" && u.User == nil
}

// base returns the URL of the server without a path.
func (o Options) base() url.URL {
	scheme := "http"
	if o.TLS.Enabled {
		scheme = "https"
	}
	return url.URL{Scheme: scheme, Host: o.Address()}
}

// Config returns the TLS configuration, or nil if TLS is off. It has a ServerName only if the
// options have one.
func (t TLS) Config() (*tls.Config, error) {
	if !t.Enabled {
		if t.CA != "" || t.ServerName != "" || t.InsecureSkipVerify || t.Cert != "" || t.Key.Reveal() != "" {
			return nil, errors.New("tls: options are given but tls is not enabled")
		}
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName, InsecureSkipVerify: t.InsecureSkipVerify}
	if t.CA != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(t.CA)) {
			return nil, errors.New("tls: ca: must be at least one PEM certificate")
		}
	}
	if t.Cert != "" || t.Key.Reveal() != "" {
		pair, err := tls.X509KeyPair([]byte(t.Cert), []byte(t.Key.Reveal()))
		if err != nil {
			return nil, fmt.Errorf("tls: client certificate: %w", err) // it quotes neither
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
