package reach

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
)

// pagePort is the port of the coordinator's page.
const pagePort = 7952

// Page carries requests to the page of the elected coordinator, whoever that
// is when a connection is made.
type Page struct {
	opts    Options
	clients kubernetes.Interface

	mu       sync.Mutex
	pod      string
	tunnel   *tunnel
	identity *tls.Config
}

// NewPage connects at once, so that it returns errors early. With an Address, that is the page's
// own.
func NewPage(ctx context.Context, opts Options) (*Page, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := &Page{opts: opts}
	if opts.Address != "" {
		if opts.CA == "" || opts.Cert == "" {
			return nil, errors.New("the page is served to those who show a certificate: give --ca, --cert and --key with --coordinator")
		}
		var err error
		p.identity, err = identityFromFiles(opts.CA, opts.Cert, opts.Key)
		return p, err
	}
	clients, err := kubernetes.NewForConfig(opts.Config)
	if err != nil {
		return nil, fmt.Errorf("create API client: %w", err)
	}
	p.clients = clients
	_, _, err = p.find(ctx)
	return p, err
}

// Transport is for a reverse proxy. The host of a request does not matter.
func (p *Page) Transport() http.RoundTripper {
	return &http.Transport{
		DialTLSContext:         p.dial,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  30 * time.Second,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// Close ends all connections.
func (p *Page) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop()
}

func (p *Page) drop() {
	if p.tunnel != nil {
		p.tunnel.close()
	}
	p.tunnel, p.pod = nil, ""
}

// find returns a tunnel to the pod that is elected now, and the identity to use there.
func (p *Page) find(ctx context.Context) (*tunnel, *tls.Config, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pod, err := elected(ctx, p.clients, p.opts.Namespace)
	if err != nil {
		return nil, nil, err
	}
	if p.tunnel != nil && p.pod == pod {
		return p.tunnel, p.identity, nil
	}
	p.drop()
	identity, err := readerIdentity(ctx, p.clients, p.opts.Namespace)
	if err != nil {
		return nil, nil, err
	}
	t, err := openTunnel(ctx, p.opts.Config, p.opts.Namespace, pod, pagePort)
	if err != nil {
		return nil, nil, err
	}
	p.tunnel, p.pod, p.identity = t, pod, identity
	return t, identity, nil
}

// dial opens one connection to the page. After a failure it looks for the elected pod again.
func (p *Page) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, identity, err := p.connect(ctx)
	if err == nil {
		secured := tls.Client(conn, identity)
		if err = secured.HandshakeContext(ctx); err == nil {
			return secured, nil
		}
		_ = conn.Close()
		err = fmt.Errorf("TLS with the page of the coordinator: %w", err)
	}
	p.Close()
	return nil, err
}

func (p *Page) connect(ctx context.Context) (net.Conn, *tls.Config, error) {
	if p.opts.Address != "" {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.opts.Address)
		return conn, p.identity, err
	}
	t, identity, err := p.find(ctx)
	if err != nil {
		return nil, nil, err
	}
	conn, err := t.dial(ctx, "")
	return conn, identity, err
}
