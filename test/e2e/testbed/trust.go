package testbed

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
)

// Trust makes http.DefaultTransport, with which all that a test asks a database goes, trust the certificates of an
// authority (PEM) that are for serverName, until restore: a pod's address is in no certificate.
func Trust(ca, serverName string) (restore func(), err error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(ca)) {
		return nil, errors.New("the authority is no certificate")
	}
	before := http.DefaultTransport
	transport := before.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, ServerName: serverName, MinVersion: tls.VersionTLS12}
	http.DefaultTransport = transport
	return func() {
		http.DefaultTransport = before
		transport.CloseIdleConnections()
	}, nil
}
