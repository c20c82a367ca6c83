package people

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TokenAudience is that of tokens that are created for Rollcall alone, such as by kubectl create
// token --audience=rollcall. They cannot be used elsewhere.
const TokenAudience = "rollcall"

// Of what people may read.
const (
	group    = "rollcall.dev"
	resource = "databaseclusters"
)

// reviewPatience is how long the API server may take for one answer.
const reviewPatience = 5 * time.Second

// person is the owner of a token, or nil.
type person = authenticationv1.UserInfo

// right is a permission that is checked for a person. An empty namespace means all.
type right struct {
	shown     digest
	verb      string
	namespace string
}

// bearer is a token.
type bearer string

// identify returns whose token it is.
func (b bearer) identify(ctx context.Context, g *Gate) (digest, *person, error) {
	token := string(b)
	key := digestOf([]byte(token))
	if who, ok := g.known.get(key); ok {
		return key, who, g.refuseNobody(who)
	}
	if vouched, _ := g.vouched.get(key); !vouched && !g.forwarded.admit(ctx, g.now()) {
		return key, nil, g.refuseConnection()
	}
	// The token of an ordinary kubeconfig is made for the API server, which is
	// what a review without audiences is about; then one made for us.
	who, err := g.ask(ctx, key, token, nil)
	if err == nil && who == nil {
		who, err = g.ask(ctx, key, token, []string{TokenAudience})
	}
	if err != nil {
		return key, nil, err
	}
	if vouched, _ := g.vouched.get(key); who != nil || vouched {
		g.vouched.put(key, who != nil, keepVouched)
	}
	g.known.put(key, who, keep(who != nil))
	return key, who, g.refuseNobody(who)
}

func (g *Gate) refuseNobody(who *person) error {
	if who != nil {
		return nil
	}
	g.refused.WithLabelValues(reasonUnknown).Inc()
	return grpcstatus.Error(codes.Unauthenticated, "the API server does not know the token that was shown, or it has expired: "+
		"log in again, and see that `kubectl auth whoami` answers")
}

// refuseConnection is for one connection that shows too much.
func (g *Gate) refuseConnection() error {
	g.refused.WithLabelValues(reasonLimit).Inc()
	return grpcstatus.Errorf(codes.ResourceExhausted, "more tokens, or requests in place of one, that the coordinator does not know yet are shown on this connection than "+
		"it looks at (%d a second): try again in a few seconds", connectionPerSecond)
}

// ask is review within the limit that the token has.
func (g *Gate) ask(ctx context.Context, key digest, token string, audiences []string) (*person, error) {
	if known, _ := g.vouched.get(key); known {
		if err := g.admit(); err != nil {
			return nil, err
		}
	} else if !g.strangers.admit(ctx, g.now()) {
		g.refused.WithLabelValues(reasonLimit).Inc()
		return nil, grpcstatus.Error(codes.ResourceExhausted, "more tokens that the coordinator does not know yet are shown than it asks the API server about: "+
			"try again in a few seconds")
	}
	return g.review(ctx, token, audiences)
}

func (g *Gate) review(ctx context.Context, token string, audiences []string) (*person, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewPatience)
	defer cancel()
	answer, err := g.client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences},
	}, metav1.CreateOptions{})
	if err != nil {
		// An API server may repeat what it was sent.
		return nil, unanswered("whose token it is", strings.ReplaceAll(err.Error(), token, "[token]"))
	}
	s := answer.Status
	if !s.Authenticated || s.User.Username == "" {
		return nil, nil
	}
	if len(audiences) > 0 && !slices.Contains(s.Audiences, TokenAudience) {
		return nil, nil // one that does not look at audiences says nothing about ours
	}
	return &s.User, nil
}

// may returns whether a person has a permission.
func (g *Gate) may(ctx context.Context, who *person, r right) (bool, error) {
	if allowed, ok := g.rights.get(r); ok {
		return allowed, nil
	}
	// In this order, a person who asks too much takes nothing from others.
	if !g.persons.of(who.Username, g.now()).AllowN(g.now(), 1) {
		return false, grpcstatus.Errorf(codes.ResourceExhausted, "%s asks more than the coordinator asks the API server about for one person (%d a second): "+
			"try again in a few seconds, or ask about one namespace", who.Username, personPerSecond)
	}
	if err := g.admit(); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, reviewPatience)
	defer cancel()
	extra := map[string]authorizationv1.ExtraValue{}
	for name, values := range who.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	answer, err := g.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: who.Username, UID: who.UID, Groups: who.Groups, Extra: extra,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: r.namespace, Verb: r.verb, Group: group, Resource: resource,
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, unanswered("what "+who.Username+" may do", err.Error())
	}
	allowed := answer.Status.Allowed && !answer.Status.Denied
	g.rights.put(r, allowed, keep(allowed))
	return allowed, nil
}

// admit limits the questions that people cause.
func (g *Gate) admit() error {
	if g.limit.TryAccept() {
		return nil
	}
	return grpcstatus.Errorf(codes.ResourceExhausted, "more people ask than the coordinator asks the API server about (%d a second): try again in a few seconds, "+
		"or ask about one namespace", perSecond)
}

func keep(allowed bool) time.Duration {
	if allowed {
		return keepAllowed
	}
	return keepRefused
}

func unanswered(what, why string) error {
	return grpcstatus.Errorf(codes.Unavailable, "the coordinator could not ask the API server %s: %s", what, why)
}

func forbidden(who *person, verb, namespace string) error {
	where := fmt.Sprintf("in namespace %q", namespace)
	if namespace == "" {
		where = "in any namespace"
	}
	return grpcstatus.Errorf(codes.PermissionDenied, "%s may not %s %s.%s %s: have somebody bind a Role with that right there, such as the ClusterRole view",
		who.Username, verb, resource, group, where)
}
