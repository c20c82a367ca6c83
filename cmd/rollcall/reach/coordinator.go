// Package reach finds the elected coordinator and talks to it: directly where
// an address is given, and otherwise through the API server, so that people
// need nothing but their kubeconfig.
package reach

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rollcall-dev/rollcall/coordinator/pki"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// DefaultNamespace is where Rollcall is installed unless told otherwise.
const DefaultNamespace = "rollcall-system"

// Asker is the name of the Role and of the ClusterRole of people who ask the coordinator.
const Asker = "rollcall-asker"

// port is the port of the coordinator's gRPC service.
const port = 7950

// Reasons why there is no coordinator to talk to.
var (
	// ErrNotElected means that no coordinator is elected, or none is installed.
	ErrNotElected = errors.New("no coordinator is elected")
	// ErrForbidden means that the API server does not let this person through.
	ErrForbidden = errors.New("not permitted")
)

// maxMessage bounds answers. A snapshot of 10,000 pods is some 10 MiB.
const maxMessage = 64 << 20

// Options say where the coordinator is. With an Address it is dialled
// directly; otherwise it is found through the API server that Config names.
type Options struct {
	// Address is host:port.
	Address string
	// CA, Cert and Key are PEM files for Address. Without a CA the connection
	// is not encrypted, which only loopback and tests should use.
	CA, Cert, Key string
	// Config says how to reach the API server.
	Config *rest.Config
	// SendToken sends the token of Config to the coordinator, which could use it like this person.
	// Without it, no credential is sent that is valid elsewhere.
	SendToken bool
	// Namespace is where Rollcall is installed.
	Namespace string
}

// Validate returns an error if options are missing or contradict each other.
func (o Options) Validate() error {
	switch {
	case o.Address == "" && (o.CA != "" || o.Cert != "" || o.Key != ""):
		return errors.New("--ca, --cert and --key are for a coordinator at --coordinator host:port, which is not given")
	case o.Address != "" && o.SendToken:
		return errors.New("--send-token is for a coordinator that is found through the API server: to one at --coordinator no token is sent")
	case (o.Cert == "") != (o.Key == ""):
		return errors.New("--cert and --key belong together: give both or none")
	case o.Cert != "" && o.CA == "":
		return errors.New("--cert needs --ca: a certificate is only shown to a server that has been verified")
	case o.Address != "":
		if _, _, err := net.SplitHostPort(o.Address); err != nil {
			return fmt.Errorf("--coordinator %q is not host:port, such as localhost:%d", o.Address, port)
		}
	}
	return nil
}

// Coordinator is a connection to the elected coordinator.
type Coordinator struct {
	rollcallv1.CoordinatorServiceClient
	conn  *grpc.ClientConn
	close func()
}

// Close ends the connection.
func (c *Coordinator) Close() {
	_ = c.conn.Close()
	c.close()
}

// Dial finds the coordinator and connects to it. The error is ErrNotElected or
// ErrForbidden where that is the reason.
func Dial(ctx context.Context, opts Options) (*Coordinator, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if opts.Address != "" {
		return direct(opts)
	}
	clients, err := kubernetes.NewForConfig(opts.Config)
	if err != nil {
		return nil, fmt.Errorf("create API client: %w", err)
	}
	pod, err := elected(ctx, clients, opts.Namespace)
	if err != nil {
		return nil, err
	}
	// Connect first, then prove the identity: a request that nobody reads would stay for a day.
	tunnel, err := openTunnel(ctx, opts.Config, opts.Namespace, pod, port)
	if err != nil {
		return nil, err
	}
	identity, more, err := whoAmI(ctx, clients, opts)
	if err != nil {
		tunnel.close()
		return nil, err
	}
	c, err := connect("passthrough:///"+pod, credentials.NewTLS(identity), append(more, grpc.WithContextDialer(tunnel.dial))...)
	if err != nil {
		tunnel.close()
		return nil, err
	}
	c.close = tunnel.close
	return c, nil
}

func direct(opts Options) (*Coordinator, error) {
	creds := insecure.NewCredentials()
	if opts.CA != "" {
		config, err := identityFromFiles(opts.CA, opts.Cert, opts.Key)
		if err != nil {
			return nil, err
		}
		creds = credentials.NewTLS(config)
	}
	return connect("passthrough:///"+opts.Address, creds)
}

func connect(target string, creds credentials.TransportCredentials, more ...grpc.DialOption) (*Coordinator, error) {
	conn, err := grpc.NewClient(target, append([]grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		// A watch may be silent for long; a dead peer must show all the same.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 5 * time.Minute, Timeout: 20 * time.Second}),
	}, more...)...)
	if err != nil {
		return nil, fmt.Errorf("connection to the coordinator: %w", err)
	}
	return &Coordinator{CoordinatorServiceClient: rollcallv1.NewCoordinatorServiceClient(conn), conn: conn, close: func() {}}, nil
}

func identityFromFiles(ca, cert, key string) (*tls.Config, error) {
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("--ca: %w", err)
	}
	config, err := trust(pem)
	if err != nil {
		return nil, fmt.Errorf("--ca %s: %w", ca, err)
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("--cert %s, --key %s: %w", cert, key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// trust returns a configuration that verifies a coordinator by these authorities.
func trust(pem []byte) (*tls.Config, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate in it: must be PEM")
	}
	return &tls.Config{RootCAs: roots, ServerName: pki.CoordinatorName, MinVersion: tls.VersionTLS13}, nil
}
