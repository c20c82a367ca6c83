// Package web is the HTTP client of adapters whose databases speak HTTP.
package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/rollcall-dev/rollcall/engines/credentials"
)

// ErrClosed means that the client was closed.
var ErrClosed = errors.New("engine is closed")

// Client sends requests to one server.
//
// Invariants: an answer costs at most its request's timeout, its Limits and maxHeader bytes of
// headers, and can be decoded as it arrives; credentials go to the configured server only (no
// redirect is followed, no proxy used) and never into an error.
type Client struct {
	options   Options
	base      url.URL
	transport *http.Transport
	http      *http.Client
	closed    atomic.Bool
	// answered means that the server has answered a request, so that how it is reached is right.
	answered atomic.Bool
}

// maxHeader bounds the headers of an answer. Databases send a few hundred bytes.
const maxHeader = 64 << 10

// New returns a client. It does not connect yet.
func New(options Options) (*Client, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	tlsConfig, err := options.TLS.Config()
	if err != nil {
		return nil, err
	}
	patience := max(options.Timeout, options.WriteTimeout)
	transport := &http.Transport{
		DialContext:           options.Dial,
		TLSClientConfig:       tlsConfig,
		MaxIdleConnsPerHost:   max(1, options.Connections),
		IdleConnTimeout:       30 * time.Second,
		TLSHandshakeTimeout:   patience,
		ResponseHeaderTimeout: patience,

		MaxResponseHeaderBytes: maxHeader,
	}
	return &Client{
		options:   options,
		base:      options.base(),
		transport: transport,
		http: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Close releases the connections. Later calls fail with ErrClosed.
func (c *Client) Close() {
	c.closed.Store(true)
	c.transport.CloseIdleConnections()
}

// Request is one call.
type Request struct {
	Method  string // empty means GET
	Path    string
	Params  url.Values
	Body    any           // as JSON; nil means none
	Timeout time.Duration // of the whole call
	Limits  Limits        // of the answer, as far as Options.MaxBytes allows them; zero means Small
	// Name is the name of the call in errors, without parameters; empty means method and path.
	Name string
	// Read reads the body of a successful answer; nil means that it is not needed. It returns a
	// *StatusError if the body reports a failure, as some servers do.
	Read func(io.Reader) error
	// ReadRefusal gets the body of an answer with a status other than 200, as far as it could be
	// read; nil means that it is not needed.
	ReadRefusal func([]byte)
}

func (r Request) name() string {
	switch {
	case r.Name != "":
		return r.Name
	case r.Method == "":
		return r.Path
	}
	return r.Method + " " + r.Path
}

// Do sends the request and reads the answer.
func (c *Client) Do(ctx context.Context, r Request) error {
	if c.closed.Load() {
		return fmt.Errorf("%s: %w", r.name(), ErrClosed)
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	user, password := "", credentials.Secret{}
	if c.options.Credentials != nil {
		var err error
		if user, password, err = c.options.Credentials(); err != nil {
			return fmt.Errorf("%s: %w", r.name(), err)
		}
	}
	req, err := c.build(ctx, r)
	if err != nil {
		return fmt.Errorf("%s: %w", r.name(), bare(err))
	}
	if user != "" {
		req.SetBasicAuth(user, password.Reveal())
	}
	answer, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", r.name(), c.likely(fit(bare(err), user, password)))
	}
	defer answer.Body.Close()
	c.answered.Store(true)
	limits := r.Limits
	if limits == (Limits{}) {
		limits = Small
	}
	limits.Bytes = min(limits.Bytes, c.options.MaxBytes)
	body := NewBounded(answer.Body, limits)
	var refusal *StatusError
	if answer.StatusCode != http.StatusOK {
		refusal = c.refusal(r, answer.StatusCode, body)
	} else {
		err = read(r, body)
	}
	if refusal != nil || errors.As(err, &refusal) {
		refusal = refusal.named(c.options.Server, r.name(), user, password)
		if c.options.Advise {
			refusal.Likely = c.options.Access.refused(refusal, user != "")
		}
		return refusal
	}
	switch {
	case body.Failed() != nil: // a decoder only says that the text ends too early
		return fmt.Errorf("%s: read the answer: %w", r.name(), fit(bare(body.Failed()), user, password))
	case err != nil:
		return fmt.Errorf("%s: %w", r.name(), fit(err, user, password))
	}
	return nil
}

// read reads the body to the end, so that the connection can be reused.
func read(r Request, body io.Reader) error {
	if r.Read != nil {
		if err := r.Read(body); err != nil {
			return err
		}
	}
	_, err := io.Copy(io.Discard, body)
	return err
}

// refusal reads the message of a failed answer. The status says more than a truncated body.
func (c *Client) refusal(r Request, status int, body io.Reader) *StatusError {
	const enough = 256 << 10
	text, _ := io.ReadAll(io.LimitReader(body, enough))
	if r.ReadRefusal != nil {
		r.ReadRefusal(text)
	}
	kind, message := c.options.Words(text)
	return &StatusError{Status: status, Kind: kind, Message: message}
}

func (c *Client) build(ctx context.Context, r Request) (*http.Request, error) {
	target := c.base
	target.Path, target.RawQuery = r.Path, r.Params.Encode()
	payload := io.Reader(nil)
	if r.Body != nil {
		data, err := json.Marshal(r.Body)
		if err != nil {
			return nil, err
		}
		payload = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, target.String(), payload)
	if err == nil && r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, err
}

// bare strips the URL that net/http puts in front of its errors. The query may be long, and the
// caller has named the path.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// Query builds parameters from pairs.
func Query(pairs ...string) url.Values {
	values := make(url.Values, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return values
}
