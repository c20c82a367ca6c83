package reach

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rollcall-dev/rollcall/coordinator/people"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

// errNoToken: a client certificate, a password, or somebody else's name in the
// kubeconfig, none of which can be shown to the coordinator.
var errNoToken = errors.New("this kubeconfig gives no token that the coordinator could ask Kubernetes about")

// whoAmI is how a person shows who they are: by the token of their kubeconfig,
// and where there is none, or its coordinator takes none, by the reader's
// certificate, if they may read that.
func whoAmI(ctx context.Context, clients kubernetes.Interface, opts Options) (*tls.Config, []grpc.DialOption, error) {
	more, tokenErr := showToken(opts.Config)
	if tokenErr == nil {
		var config *tls.Config
		if config, tokenErr = trusted(ctx, clients, opts.Namespace); tokenErr == nil {
			return config, more, nil
		}
		if !errors.Is(tokenErr, ErrForbidden) && !errors.Is(tokenErr, ErrNotElected) {
			return nil, nil, tokenErr
		}
	} else if !errors.Is(tokenErr, errNoToken) {
		return nil, nil, tokenErr
	}
	config, err := readerIdentity(ctx, clients, opts.Namespace)
	if err == nil {
		return config, nil, nil
	}
	if errors.Is(err, ErrForbidden) {
		role := "rollcall-asker"
		if errors.Is(tokenErr, errNoToken) {
			role = pki.SecretReader
		}
		return nil, nil, fmt.Errorf("%w; nor with a token: %w (have somebody bind the Role %s of namespace %s to you)", err, tokenErr, role, opts.Namespace)
	}
	return nil, nil, err
}

// trusted verifies the coordinator by what is public of its authority.
func trusted(ctx context.Context, clients kubernetes.Interface, namespace string) (*tls.Config, error) {
	secret, err := clients.CoreV1().Secrets(namespace).Get(ctx, pki.SecretTrust, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%w: there is no Secret %s/%s, which a coordinator makes when it first starts", ErrNotElected, namespace, pki.SecretTrust)
	case err != nil:
		return nil, explain(err, fmt.Sprintf("get Secret %s/%s", namespace, pki.SecretTrust))
	}
	config, err := trust(secret.Data["ca.crt"])
	if err != nil {
		return nil, fmt.Errorf("secret %s/%s, key ca.crt: %w", namespace, pki.SecretTrust, err)
	}
	return config, nil
}

// showToken has each call carry the token of a kubeconfig.
func showToken(config *rest.Config) ([]grpc.DialOption, error) {
	t := &token{}
	var err error
	// The same that gives the API server its credentials: a token, a file that is
	// read again, or the plugin of a cloud.
	if t.transport, err = rest.HTTPWrappersForConfig(config, mirror{}); err != nil {
		return nil, fmt.Errorf("the kubeconfig's credentials: %w", err)
	}
	if _, err := t.current(context.Background()); err != nil {
		return nil, err
	}
	return []grpc.DialOption{grpc.WithPerRPCCredentials(t)}, nil
}

// token is credentials of single calls.
type token struct{ transport http.RoundTripper }

// RequireTransportSecurity keeps the token from everybody but a verified coordinator.
func (*token) RequireTransportSecurity() bool { return true }

// GetRequestMetadata asks at every call: tokens are renewed.
func (t *token) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	value, err := t.current(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]string{people.Header: value}, nil
}

// current is what the API server would be sent now.
func (t *token) current(ctx context.Context) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://kubernetes.default.svc/", nil)
	if err != nil {
		return "", err
	}
	response, err := t.transport.RoundTrip(request)
	if err != nil {
		return "", fmt.Errorf("the kubeconfig's credentials: %w", err)
	}
	defer response.Body.Close()
	value := response.Header.Get("Authorization")
	if !strings.HasPrefix(value, "Bearer ") || response.Header.Get("Impersonate-User") != "" {
		// With --as, the token is another's than the one who is meant to ask.
		return "", errNoToken
	}
	return value, nil
}

// mirror answers a request with its own headers, and sends nothing.
type mirror struct{}

func (mirror) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: r.Header.Clone(), Body: http.NoBody, Request: r}, nil
}
