package reach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// tunnel carries connections to one port of one pod through the API server.
// It opens no port on this machine, so nobody else can use it.
type tunnel struct {
	dialer httpstream.Dialer
	pod    string
	port   int

	mu       sync.Mutex
	upstream httpstream.Connection
	requests int
}

// openTunnel connects at once, so that it returns errors early.
func openTunnel(ctx context.Context, config *rest.Config, namespace, pod string, port int) (*tunnel, error) {
	dialer, err := portForwardDialer(config, namespace, pod)
	if err != nil {
		return nil, fmt.Errorf("port-forward to pod %s/%s: %w", namespace, pod, err)
	}
	t := &tunnel{dialer: dialer, pod: namespace + "/" + pod, port: port}
	if _, err := t.connection(ctx); err != nil {
		return nil, explain(err, "port-forward to pod "+t.pod)
	}
	return t, nil
}

// portForwardDialer speaks WebSocket, and SPDY to older API servers.
func portForwardDialer(config *rest.Config, namespace, pod string) (httpstream.Dialer, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion = &corev1.SchemeGroupVersion
	config.APIPath = "/api"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	url := client.Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	fallback := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	websocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(url, config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(websocket, fallback, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// connection returns the connection to the API server, and makes a new one if it was lost.
func (t *tunnel) connection(ctx context.Context) (httpstream.Connection, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.upstream != nil {
		select {
		case <-t.upstream.CloseChan():
			t.upstream = nil
		default:
			return t.upstream, nil
		}
	}
	type answer struct {
		conn  httpstream.Connection
		proto string
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		conn, proto, err := t.dialer.Dial(portforward.PortForwardProtocolV1Name)
		answered <- answer{conn, proto, err}
	}()
	select {
	case <-ctx.Done():
		// The dialer takes no context: a late connection is closed.
		go func() {
			if a := <-answered; a.conn != nil {
				_ = a.conn.Close()
			}
		}()
		return nil, ctx.Err()
	case a := <-answered:
		if a.err != nil {
			return nil, a.err
		}
		if a.proto != portforward.PortForwardProtocolV1Name {
			_ = a.conn.Close()
			return nil, fmt.Errorf("the API server speaks %q instead of %q", a.proto, portforward.PortForwardProtocolV1Name)
		}
		t.upstream = a.conn
		return a.conn, nil
	}
}

func (t *tunnel) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.upstream != nil {
		_ = t.upstream.Close()
		t.upstream = nil
	}
}

// dial is one connection to the pod's port. The address does not matter.
func (t *tunnel) dial(ctx context.Context, _ string) (net.Conn, error) {
	upstream, err := t.connection(ctx)
	if err != nil {
		return nil, fmt.Errorf("port-forward to pod %s: %w", t.pod, err)
	}
	t.mu.Lock()
	t.requests++
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(t.port))
	headers.Set(corev1.PortForwardRequestIDHeader, strconv.Itoa(t.requests))
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	t.mu.Unlock()

	// Kubernetes reports on a stream of its own why data could not be carried.
	failure, err := upstream.CreateStream(headers)
	if err != nil {
		return nil, fmt.Errorf("port-forward to pod %s: %w", t.pod, err)
	}
	_ = failure.Close() // nothing is written to it
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := upstream.CreateStream(headers)
	if err != nil {
		upstream.RemoveStreams(failure)
		return nil, fmt.Errorf("port-forward to pod %s: %w", t.pod, err)
	}
	c := &streamConn{Stream: data, pod: t.pod, port: t.port, failed: make(chan struct{})}
	go c.watchFailure(failure)
	c.release = func() { upstream.RemoveStreams(failure, data) }
	return c, nil
}

// streamConn is a stream of the tunnel as a network connection. It knows no
// deadlines; gRPC has its own.
type streamConn struct {
	httpstream.Stream
	pod     string
	port    int
	release func()
	once    sync.Once

	failed chan struct{} // closed once why is set
	why    error
}

func (c *streamConn) watchFailure(failure io.Reader) {
	message, err := io.ReadAll(io.LimitReader(failure, 4<<10))
	if err != nil || len(message) == 0 {
		return
	}
	c.why = fmt.Errorf("port %d of pod %s: %s", c.port, c.pod, message)
	close(c.failed)
	_ = c.Reset()
}

func (c *streamConn) Read(p []byte) (int, error) {
	n, err := c.Stream.Read(p)
	return n, c.because(err)
}

func (c *streamConn) Write(p []byte) (int, error) {
	n, err := c.Stream.Write(p)
	return n, c.because(err)
}

// because returns why the connection broke, if Kubernetes reported it.
func (c *streamConn) because(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-c.failed:
		return c.why
	default:
	}
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return err
}

func (c *streamConn) Close() error {
	c.once.Do(func() {
		_ = c.Reset()
		c.release()
	})
	return nil
}

func (c *streamConn) LocalAddr() net.Addr              { return tunnelAddr("local") }
func (c *streamConn) RemoteAddr() net.Addr             { return tunnelAddr(c.pod) }
func (c *streamConn) SetDeadline(time.Time) error      { return nil }
func (c *streamConn) SetReadDeadline(time.Time) error  { return nil }
func (c *streamConn) SetWriteDeadline(time.Time) error { return nil }

type tunnelAddr string

func (a tunnelAddr) Network() string { return "port-forward" }
func (a tunnelAddr) String() string  { return string(a) }
