package reach

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rollcall-dev/rollcall/coordinator/people"
)

// tokenSeconds is how long a token for the coordinator is good, the least that Kubernetes gives.
const tokenSeconds = 600

// errNoToken means that the kubeconfig has a client certificate, a password, or impersonates
// another user.
var errNoToken = errors.New("this kubeconfig gives no token of the one who asks, but a client certificate, a password or another's name: " +
	"leave --send-token out")

// accountToken returns a token of a ServiceAccount for the coordinator alone. Nil means that the
// user is not a ServiceAccount, or may not create one.
func accountToken(ctx context.Context, clients kubernetes.Interface) (credentials.PerRPCCredentials, error) {
	review, err := clients.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if withheld(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("create SelfSubjectReview: %w", err)
	}
	name, ok := strings.CutPrefix(review.Status.UserInfo.Username, "system:serviceaccount:")
	namespace, account, two := strings.Cut(name, ":")
	if !ok || !two {
		return nil, nil
	}
	seconds := int64(tokenSeconds)
	answer, err := clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{people.TokenAudience}, ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if withheld(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("create a token of ServiceAccount %s/%s: %w", namespace, account, err)
	}
	return fixed("Bearer " + answer.Status.Token), nil
}

// withheld reports whether the API server refused, because this person may not do it, or does not
// have it.
func withheld(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// fixed is the same for each call.
type fixed string

// RequireTransportSecurity keeps it from everybody but a verified coordinator.
func (fixed) RequireTransportSecurity() bool { return true }

// GetRequestMetadata is what each call carries.
func (f fixed) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{people.Header: string(f)}, nil
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

// GetRequestMetadata gets the token at every call, because tokens are renewed.
func (t *token) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	value, err := t.current(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]string{people.Header: value}, nil
}

// current returns the token that the API server would get now.
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
		// With --as, the token belongs to another user than the impersonated one.
		return "", errNoToken
	}
	return value, nil
}

// mirror answers a request with the request's own headers, and sends nothing.
type mirror struct{}

func (mirror) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: r.Header.Clone(), Body: http.NoBody, Request: r}, nil
}
