package opensearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// client asks one OpenSearch node over HTTP.
//
// Invariants: an answer costs at most its timeout and maxBytes, and is decoded as
// it comes; credentials go to the configured node only (no redirect is followed,
// no proxy used) and never into an error.
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
		MaxIdleConnsPerHost:   4,
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

// request is one call.
type request struct {
	method  string // empty: GET
	path    string
	params  url.Values
	body    any // as JSON; nil: none
	timeout time.Duration
	// into reads the body of a good answer; nil: nobody needs it.
	into func(io.Reader) error
}

// what names the call in errors: method and path, never the parameters.
func (r request) what() string {
	if r.method == "" {
		return r.path
	}
	return r.method + " " + r.path
}

// do sends the request and reads the answer.
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
	req, err := c.build(ctx, r)
	if err != nil {
		return fmt.Errorf("%s: %w", r.what(), bare(err))
	}
	if user != "" {
		req.SetBasicAuth(user, password.Reveal())
	}
	answer, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", r.what(), bare(err))
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return failure(r, answer, user, password)
	}
	limited := &bounded{from: answer.Body, left: c.maxBytes}
	if r.into == nil {
		_, err = io.Copy(io.Discard, limited)
	} else if err = r.into(limited); err == nil {
		// To the end, so that the connection can be used again.
		_, err = io.Copy(io.Discard, limited)
	}
	switch {
	case limited.failed != nil: // a decoder says only that the text ends too early
		return fmt.Errorf("%s: read the answer: %w", r.what(), bare(limited.failed))
	case err != nil:
		return fmt.Errorf("%s: %w", r.what(), err)
	}
	return nil
}

func (c *client) build(ctx context.Context, r request) (*http.Request, error) {
	target := c.base
	target.Path, target.RawQuery = r.path, r.params.Encode()
	payload := io.Reader(nil)
	if r.body != nil {
		data, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		payload = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target.String(), payload)
	if err == nil && r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, err
}

// bounded is a body of at most so many bytes, which remembers why it ended.
type bounded struct {
	from   io.Reader
	left   int64
	failed error
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		var one [1]byte
		n, err := b.from.Read(one[:])
		if n > 0 {
			b.failed = ErrTooLarge
			return 0, b.failed
		}
		return 0, b.end(err)
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.from.Read(p)
	b.left -= int64(n)
	return n, b.end(err)
}

func (b *bounded) end(err error) error {
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed = err
	}
	return err
}

// failure reads the words of an answer that is none. The status says more than a
// body that breaks off.
func failure(r request, answer *http.Response, user string, password Secret) error {
	const enough = 64 << 10
	body, _ := io.ReadAll(io.LimitReader(answer.Body, enough))
	kind, words := errorText(body)
	return &StatusError{
		What: r.what(), Status: answer.StatusCode,
		Kind: redact(kind, user, password), Message: redact(words, user, password),
	}
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
	return strings.NewReplacer(basicToken(user, password), hidden, password.Reveal(), hidden).Replace(text)
}

func basicToken(user string, password Secret) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password.Reveal())
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Basic ")
}
