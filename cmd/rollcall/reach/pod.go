package reach

import (
	"context"
	"net"

	"k8s.io/client-go/rest"
)

// Pod carries connections to one port of a pod through the API server, to its loopback address.
// People need the right to create pods/portforward for it.
type Pod struct{ tunnel *tunnel }

// OpenPod connects to the API server at once, and to the port with each Dial.
func OpenPod(ctx context.Context, config *rest.Config, namespace, pod string, port int) (*Pod, error) {
	t, err := openTunnel(ctx, config, namespace, pod, port)
	if err != nil {
		return nil, err
	}
	return &Pod{t}, nil
}

// Dial connects to the port.
func (p *Pod) Dial(ctx context.Context) (net.Conn, error) { return p.tunnel.dial(ctx, "") }

// Close ends all connections.
func (p *Pod) Close() { p.tunnel.close() }
