package solr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// client asks one Solr node over HTTP.
//
// Invariants: an answer costs at most timeout and maxBytes; credentials go to the
// configured node only (no redirect is followed, no proxy used) and never into
// an error.
type client struct {
	base        url.URL
	credentials Credentials
	transport   *http.Transport
	http        *http.Client
	maxBytes    int64
	closed      atomic.Bool
}

func newClient(o Options) (*client, error) {
	tlsConfig, err := o.TLS.config()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		TLSClientConfig:       tlsConfig,
		MaxIdleConnsPerHost:   o.Parallel + 4,
		IdleConnTimeout:       30 * time.Second,
		TLSHandshakeTimeout:   o.Timeout,
		ResponseHeaderTimeout: max(o.Timeout, o.WriteTimeout),
	}
	return &client{
		base:        o.base(),
		credentials: o.Credentials,
		transport:   transport,
		maxBytes:    o.MaxBytes,
		http: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func (c *client) close() {
	c.closed.Store(true)
	c.transport.CloseIdleConnections()
}

// request is one call; params go into the query, body (JSON) makes it a POST.
type request struct {
	path    string
	params  url.Values
	body    []byte
	timeout time.Duration
	// into receives the body of a good answer.
	into *bytes.Buffer
}

// what names the call in errors: the path and the action, never the parameters.
func (r request) what() string {
	if action := r.params.Get("action"); action != "" {
		return r.path + " " + action
	}
	return r.path
}

// do sends the request. The body is in r.into also when the answer is a
// *StatusError, as far as it could be read.
func (c *client) do(ctx context.Context, r request) error {
	if c.closed.Load() {
		return fmt.Errorf("%s: %w", r.what(), ErrClosed)
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	user, password := "", Secret{}
	if c.credentials != nil {
		var err error
		if user, password, err = c.credentials(); err != nil {
			return fmt.Errorf("%s: %w", r.what(), err)
		}
	}
	target := c.base
	target.Path, target.RawQuery = r.path, r.params.Encode()
	method, payload := http.MethodGet, io.Reader(nil)
	if r.body != nil {
		method, payload = http.MethodPost, bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, method, target.String(), payload)
	if err != nil {
		return fmt.Errorf("%s: %w", r.what(), bare(err))
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if user != "" {
		req.SetBasicAuth(user, password.Reveal())
	}
	answer, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", r.what(), bare(err))
	}
	defer answer.Body.Close()
	_, err = r.into.ReadFrom(io.LimitReader(answer.Body, c.maxBytes+1))
	if answer.StatusCode != http.StatusOK {
		// The status says more than a body that broke off.
		return &StatusError{What: r.what(), Status: answer.StatusCode, Message: redact(errorText(r.into.Bytes()), user, password)}
	}
	if err != nil {
		return fmt.Errorf("%s: read the answer: %w", r.what(), bare(err))
	}
	if int64(r.into.Len()) > c.maxBytes {
		return fmt.Errorf("%s: %w of %d bytes", r.what(), ErrTooLarge, c.maxBytes)
	}
	// Some versions answer 200 with an error in the body.
	if failure := bodyFailure(r.into.Bytes()); failure != nil {
		failure.What, failure.Message = r.what(), redact(failure.Message, user, password)
		return failure
	}
	return nil
}

// bare strips the URL that net/http puts in front of its errors: the query may be
// long, and the caller has named the path.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// redact keeps a server that echoes what it was sent from putting credentials in
// our errors.
func redact(text, user string, password Secret) string {
	if user == "" || password.Reveal() == "" {
		return text
	}
	header := basicToken(user, password)
	return strings.NewReplacer(header, hidden, password.Reveal(), hidden).Replace(text)
}

func basicToken(user string, password Secret) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password.Reveal())
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Basic ")
}
