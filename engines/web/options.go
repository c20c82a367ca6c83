package web

import (
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

// Options of a client. All without a note are required.
type Options struct {
	// Server is the database in errors, in lower case.
	Server string
	Host   string
	Port   int
	TLS    TLS
	// Credentials are asked before every request, so that a changed password is
	// used at once. Nil: anonymous.
	Credentials credentials.Source
	// Timeout bounds the wait for the first byte of any answer.
	Timeout time.Duration
	// MaxBytes bounds the body of each answer.
	MaxBytes int64
	// Connections that are kept open.
	Connections int
	// Dial connects. Nil: over the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Words finds, in the body of a refusal, the server's name of the failure and what
	// it says. Anything but the database's own form, such as a proxy's page, is
	// nobody's business: it may repeat what was sent.
	Words func(body []byte) (kind, message string)
}

// TLS between the agent and the server. Certificates are verified unless
// InsecureSkipVerify says otherwise.
type TLS struct {
	Enabled bool
	// CA is PEM; empty: the system's roots.
	CA string
	// ServerName that the certificate must carry; empty: Options.Host.
	ServerName         string
	InsecureSkipVerify bool
}

func (o Options) validate() error {
	var errs []error
	if o.Port < 1 || o.Port > 65535 {
		errs = append(errs, fmt.Errorf("port %d: want 1 to 65535", o.Port))
	}
	if !plainHost(o.Host) {
		errs = append(errs, fmt.Errorf("host %q: want a host name or an IP address", o.Host))
	}
	if o.Timeout <= 0 || o.MaxBytes <= 0 || o.Connections <= 0 {
		errs = append(errs, errors.New("timeout, max bytes, connections: want positive values"))
	}
	_, err := o.TLS.Config()
	return errors.Join(append(errs, err)...)
}

func plainHost(host string) bool {
	u, err := url.Parse("http://" + net.JoinHostPort(host, "1"))
	return err == nil && u.Hostname() == host && u.Path == "" && u.RawQuery == "" && u.User == nil
}

// base is the address of the server, without a path.
func (o Options) base() url.URL {
	scheme := "http"
	if o.TLS.Enabled {
		scheme = "https"
	}
	return url.URL{Scheme: scheme, Host: net.JoinHostPort(o.Host, strconv.Itoa(o.Port))}
}

// Config answers nil when TLS is off. Without ServerName in the options it has none.
func (t TLS) Config() (*tls.Config, error) {
	if !t.Enabled {
		if t != (TLS{}) {
			return nil, errors.New("tls: options are given but tls is not enabled")
		}
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
