package people

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	grpcstatus "google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// keepAttested is how long after its creation a request identifies a person. Permissions are
	// checked as often in that time as those of a token.
	keepAttested = 10 * time.Minute
	// skewAllowed is how far the clocks of the API server and of the coordinator may differ.
	skewAllowed = 5 * time.Minute
	// readAtOnce bounds the requests that are in memory: their creator may make them as large as
	// the API server allows.
	readAtOnce = 2
)

// attested are the people who have shown their request.
type attested struct {
	known   cache[digest, *person]
	refused cache[digest, error]
	reading chan struct{}
	kept    rate.Sometimes // a request could not be deleted
}

// proof is the digest of a key, by which a caller has signed on the connection they call on.
type proof digest

// readProof verifies a proof without asking the API server.
func readProof(ctx context.Context, value string) (proof, error) {
	refuse := func(why string) error {
		return grpcstatus.Errorf(codes.Unauthenticated, "the proof by a CertificateSigningRequest that was shown does not count: %s", why)
	}
	p, ok := peer.FromContext(ctx)
	if !ok {
		return proof{}, refuse("there is no connection")
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return proof{}, refuse("the connection is not encrypted")
	}
	key, err := proven(value, info.State)
	if err != nil {
		return proof{}, refuse(err.Error())
	}
	return proof(key), nil
}

// identify returns who has created the request with the key. The request is deleted once it is
// read; the answer is remembered until it expires.
func (p proof) identify(ctx context.Context, g *Gate) (digest, *person, error) {
	key := digest(p)
	if who, ok := g.attested.known.get(key); ok {
		g.forwarded.shown(ctx, who.Username, g.now())
		return key, who, nil
	}
	if err, ok := g.attested.refused.get(key); ok {
		g.refused.WithLabelValues(reasonUnknown).Inc()
		return key, nil, err
	}
	if !g.forwarded.admit(ctx, g.now()) {
		return key, nil, g.refuseConnection()
	}
	if !g.forwarded.first(ctx, &g.persons, g.now()) && !g.strangers.admit(ctx, g.now()) {
		g.refused.WithLabelValues(reasonLimit).Inc()
		return key, nil, grpcstatus.Error(codes.ResourceExhausted, "more people whom the coordinator does not know yet ask than it asks the API server about: "+
			"try again in a few seconds")
	}
	select {
	case g.attested.reading <- struct{}{}:
		defer func() { <-g.attested.reading }()
	case <-ctx.Done():
		return key, nil, grpcstatus.FromContextError(ctx.Err()).Err()
	}
	who, err := g.readRequest(ctx, key)
	if err == nil {
		g.forwarded.shown(ctx, who.Username, g.now())
	}
	if grpcstatus.Code(err) == codes.Unauthenticated {
		g.refused.WithLabelValues(reasonUnknown).Inc()
		g.attested.refused.put(key, err, keepRefused)
	}
	return key, who, err
}

func (g *Gate) readRequest(ctx context.Context, key digest) (*person, error) {
	// Another call of the same person may have read it in the meantime.
	if who, ok := g.attested.known.get(key); ok {
		return who, nil
	}
	name := requestName(key)
	reading, cancel := context.WithTimeout(ctx, reviewPatience)
	defer cancel()
	object, err := g.client.CertificatesV1().CertificateSigningRequests().Get(reading, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if who, ok := g.attested.known.get(key); ok {
			return who, nil
		}
		return nil, grpcstatus.Errorf(codes.Unauthenticated, "there is no CertificateSigningRequest %s, or it says no more who you are, "+
			"which it does for %s, and to one coordinator: run the command again", name, keepAttested)
	}
	if err != nil {
		return nil, unanswered("who has made CertificateSigningRequest "+name, err.Error())
	}
	if err := isFor(object, key); err != nil {
		return nil, grpcstatus.Errorf(codes.Unauthenticated, "CertificateSigningRequest %s says nothing about you: %v", name, err)
	}
	// It has served its purpose, whether or not it is in time.
	defer g.deleteRequest(ctx, object)
	made, now := object.CreationTimestamp.Time, g.now()
	if age := now.Sub(made); age >= keepAttested || age < -skewAllowed {
		return nil, grpcstatus.Errorf(codes.Unauthenticated, "CertificateSigningRequest %s was made at %s, and it is %s by the coordinator's clock: "+
			"it says for %s who you are. Run the command again; if that does not help, the clocks of the API server and of the coordinator differ",
			name, made.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339), keepAttested)
	}
	s := object.Spec
	if s.Username == "" {
		return nil, grpcstatus.Errorf(codes.Unauthenticated, "CertificateSigningRequest %s does not say who has made it", name)
	}
	who := &person{Username: s.Username, UID: s.UID, Groups: s.Groups, Extra: map[string]authenticationv1.ExtraValue{}}
	for k, v := range s.Extra {
		who.Extra[k] = authenticationv1.ExtraValue(v)
	}
	until := now.Add(keepAttested)
	if end := made.Add(keepAttested); end.Before(until) {
		until = end
	}
	g.attested.known.put(key, who, until.Sub(now))
	return who, nil
}

// deleteRequest deletes what has been read: Kubernetes itself keeps it for a day.
func (g *Gate) deleteRequest(ctx context.Context, object *certificatesv1.CertificateSigningRequest) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewPatience)
	defer cancel()
	err := g.client.CertificatesV1().CertificateSigningRequests().Delete(ctx, object.Name, *metav1.NewPreconditionDeleteOptions(string(object.UID)))
	if err != nil && !apierrors.IsNotFound(err) {
		g.attested.kept.Do(func() {
			slog.Warn("a request by which somebody has shown who they are could not be deleted; Kubernetes deletes it after a day",
				"request", object.Name, "error", err)
		})
	}
}
