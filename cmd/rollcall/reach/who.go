package reach

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/people"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

// errUnproven means that the user may neither create a request nor get a token for the coordinator
// alone.
var errUnproven = errors.New("nothing was found that shows the coordinator who you are and reveals nothing else")

// whoAmI returns how a person proves their identity, and how they verify the coordinator. The
// methods that reveal least come first, and a credential that is valid elsewhere is sent only on
// request:
//
//  1. a CertificateSigningRequest, into which the API server writes who has made it;
//  2. a token that a ServiceAccount has made for the coordinator alone;
//  3. the reader's certificate, for those who may read it: it reads about all databases.
func whoAmI(ctx context.Context, clients kubernetes.Interface, opts Options) (*tls.Config, []grpc.DialOption, error) {
	_, config, err := trusted(ctx, clients, opts.Namespace, pki.SecretTrust)
	if opts.SendToken {
		if err != nil {
			return nil, nil, bindAsker(err, opts.Namespace)
		}
		more, err := showToken(opts.Config)
		return config, more, err
	}
	why := err
	if err == nil {
		var shown credentials.PerRPCCredentials
		if shown, why = prove(ctx, clients); why == nil {
			return config, []grpc.DialOption{grpc.WithPerRPCCredentials(shown)}, nil
		}
	}
	if !errors.Is(why, errUnproven) && !errors.Is(why, ErrForbidden) && !errors.Is(why, ErrNotElected) {
		return nil, nil, why
	}
	reader, err := readerIdentity(ctx, clients, opts.Namespace)
	switch {
	case err == nil:
		return reader, nil, nil
	case !errors.Is(err, ErrForbidden):
		return nil, nil, err
	case errors.Is(why, errUnproven):
		return nil, nil, fmt.Errorf("%w; and %w", why, err)
	}
	return nil, nil, fmt.Errorf("%w; nor as yourself: %w", err, bindAsker(why, opts.Namespace))
}

func bindAsker(err error, namespace string) error {
	if errors.Is(err, ErrForbidden) {
		return fmt.Errorf("%w (have somebody bind the Role %[2]s of namespace %[3]s to you, and the ClusterRole %[2]s)", err, Asker, namespace)
	}
	return err
}

// prove proves who this person is. It returns errUnproven if the API server allows neither method.
func prove(ctx context.Context, clients kubernetes.Interface) (credentials.PerRPCCredentials, error) {
	request, err := people.NewRequest()
	if err != nil {
		return nil, err
	}
	object, err := request.Object()
	if err != nil {
		return nil, err
	}
	_, refused := clients.CertificatesV1().CertificateSigningRequests().Create(ctx, object, metav1.CreateOptions{})
	if refused == nil {
		return request, nil
	}
	if !withheld(refused) {
		return nil, fmt.Errorf("create CertificateSigningRequest %s: %w", object.Name, refused)
	}
	token, err := accountToken(ctx, clients)
	if err != nil || token != nil {
		return token, err
	}
	todo := fmt.Sprintf("have somebody bind the ClusterRole %s to you", Asker)
	if apierrors.IsNotFound(refused) {
		todo = "have the API server serve certificates.k8s.io/v1"
	}
	return nil, fmt.Errorf("%w: create CertificateSigningRequest: %w (%s; or use --send-token, "+
		"which shows the coordinator the token of your kubeconfig: whoever holds it may do all that you may)", errUnproven, refused, todo)
}
