package web

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// Fields of a DatabaseCluster that say how its servers are reached.
const (
	fieldTLS         = "spec.connection.tls.enabled"
	fieldCA          = "spec.connection.tls.caSecret"
	fieldServerName  = "spec.connection.tls.serverName"
	fieldClient      = "spec.connection.tls.clientSecret"
	fieldCredentials = "spec.connection.credentialsSecret"
)

// Alerts of TLS with which a server refuses the certificate of a client.
const (
	alertHandshakeFailure    = 40
	alertBadCertificate      = 42
	alertCertificateExpired  = 45
	alertCertificateUnknown  = 46
	alertUnknownCA           = 48
	alertAccessDenied        = 49
	alertCertificateRequired = 116
)

// likely adds to an error what a person most likely has to change. A server that has answered before
// is reached in the right way: what ends its connections then is no matter of how.
func (c *Client) likely(err error) error {
	err = steady(err)
	if !c.options.Advise {
		return err
	}
	if why := c.options.Access.misreached(err, c.answered.Load()); why != "" {
		return &fitError{err.Error() + "; " + why, err}
	}
	return err
}

// steady takes out of an error what differs each time, so that the same trouble has the same words: the
// own port of a connection, and the time at which a certificate had expired.
func steady(err error) error {
	text := err.Error()
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Source != nil {
		text = strings.ReplaceAll(text, op.Source.String()+"->", "")
	}
	text, _, _ = strings.Cut(text, ": current time ")
	if text == err.Error() {
		return err
	}
	return &fitError{text, err}
}

// Unverified says what a person most likely has to change so that the server's certificate is accepted,
// or the agent's by the server. Empty means that the error is about neither.
func (a Access) Unverified(err error) string { return a.misreached(err, true) }

func (a Access) misreached(err error, answered bool) string {
	if why := a.TLS.unverified(err, cmp.Or(a.TLS.ServerName, a.Host)); why != "" {
		return why
	}
	alert, alerted := errors.AsType[tls.AlertError](err)
	if alerted || strings.Contains(err.Error(), "remote error: tls: ") {
		return a.TLS.refused(uint8(alert), err.Error())
	}
	if answered {
		return ""
	}
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case a.TLS.Enabled && (plain || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")):
		return "the server most likely speaks no TLS: turn " + fieldTLS + " off"
	case a.TLS.Enabled:
	case strings.Contains(err.Error(), "malformed HTTP"), ended(err):
		return "the server most likely speaks TLS: turn " + fieldTLS + " on"
	}
	return ""
}

// ended reports whether the other end has closed the connection without an answer.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// unverified says why the server's certificate was not accepted.
func (t TLS) unverified(err error, name string) string {
	if expired, ok := errors.AsType[x509.CertificateInvalidError](err); ok && expired.Reason == x509.Expired && expired.Cert != nil {
		if now := time.Now(); now.Before(expired.Cert.NotBefore) {
			return "the server's certificate is valid from " + date(expired.Cert.NotBefore) + " on"
		}
		return "the server's certificate has expired on " + date(expired.Cert.NotAfter) + ": renew it on the server"
	}
	if other, ok := errors.AsType[x509.HostnameError](err); ok && other.Certificate != nil {
		return fmt.Sprintf("the certificate is not for %s, but for %s: set %s to one of them", engines.OneLine(name), names(other.Certificate), fieldServerName)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		if t.CA == "" {
			return "name a Secret with the certificate of the server's authority in " + fieldCA
		}
		return "the Secret of " + fieldCA + " has not the authority that signed the server's certificate"
	}
	return ""
}

// refused says why the server did not accept the client.
func (t TLS) refused(alert uint8, text string) string {
	says := func(words string) bool { return strings.HasSuffix(text, words) }
	expired := alert == alertCertificateExpired || says("expired certificate")
	unknown := alert == alertUnknownCA || says("unknown certificate authority")
	switch {
	case expired && t.Cert != "":
		return "the certificate in the Secret of " + fieldClient + " has expired: renew it"
	case unknown && t.Cert != "":
		return "the server does not know the authority of the certificate in the Secret of " + fieldClient
	case alert == alertBadCertificate, alert == alertCertificateUnknown, alert == alertCertificateRequired, alert == alertHandshakeFailure,
		alert == alertAccessDenied, says("bad certificate"), says("certificate required"), says("unknown certificate"), says("handshake failure"):
		if t.Cert == "" {
			return "the server most likely asks for a client's certificate: name its Secret in " + fieldClient
		}
		return "the server does not accept the certificate in the Secret of " + fieldClient
	}
	return ""
}

// refused says what is most likely wrong with the credentials. What a user lacks is in the server's
// own words. A cluster of OpenSearch that people made read-only refuses with 403, too, and names that.
func (a Access) refused(e *StatusError, user bool) string {
	where := cmp.Or(a.CredentialsFrom, "the Secret of "+fieldCredentials)
	switch {
	case e.Status == http.StatusUnauthorized && !user:
		return "the agent has no user and password: put them into a Secret and name it in " + fieldCredentials
	case e.Status == http.StatusUnauthorized:
		return "the user or the password in " + where + " is wrong"
	case e.Status == http.StatusForbidden && user && (e.Kind == "" || e.Kind == "security_exception"):
		return "the user in " + where + " lacks a permission"
	}
	return ""
}

// names returns what a certificate is for.
func names(c *x509.Certificate) string {
	all := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) == 0 {
		return "no name"
	}
	return engines.OneLine(engines.Some(all))
}

func date(t time.Time) string { return t.UTC().Format(time.DateOnly + " 15:04 MST") }
