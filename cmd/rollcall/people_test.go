package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	k8stesting "k8s.io/client-go/testing"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/people"
)

// review returns the coordinator's questions about people: the token t is Ada's, who may read in
// namespace prod, and u is Bob's, who may read nothing. The token r is the bot's, which is good for
// the coordinator alone.
func (w *world) review(action k8stesting.Action) (bool, runtime.Object, error) {
	switch review := action.(k8stesting.CreateAction).GetObject().(type) {
	case *authenticationv1.TokenReview:
		name, ok := map[string]string{"t": "ada", "u": "bob", "r": bot}[review.Spec.Token]
		review.Status.Authenticated, review.Status.User.Username = ok && (len(review.Spec.Audiences) == 1) == (name == bot), name
		review.Status.Audiences = review.Spec.Audiences
		return true, review, nil
	case *authorizationv1.SubjectAccessReview:
		review.Status.Allowed = (review.Spec.User == "ada" || review.Spec.User == bot) && review.Spec.ResourceAttributes.Namespace == "prod"
		return true, review, nil
	}
	return false, nil, nil
}

const (
	bot     = "system:serviceaccount:ci:bot"
	botPath = "/api/v1/namespaces/ci/serviceaccounts/bot/token"
)

// attest is the API server's part of a request: it writes down who has made it.
func (w *world) attest(rw http.ResponseWriter, r *http.Request) {
	object, err := decode[*certificatesv1.CertificateSigningRequest](r)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	object.CreationTimestamp = metav1.Now()
	name, _, _ := r.BasicAuth()
	object.Spec.Username = map[string]string{"Bearer t": "ada", "Bearer u": "bob"}[r.Header.Get("Authorization")] + name
	if other := r.Header.Get("Impersonate-User"); other != "" {
		object.Spec.Username = other
	}
	made, err := w.kube.CertificatesV1().CertificateSigningRequests().Create(r.Context(), object, metav1.CreateOptions{})
	if err != nil {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	rw.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(rw).Encode(made)
}

// decode reads an object that a client sends, as JSON or as protobuf.
func decode[T runtime.Object](r *http.Request) (object T, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return object, err
	}
	some, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return object, err
	}
	object, ok := some.(T)
	if !ok {
		return object, fmt.Errorf("a %T", some)
	}
	return object, nil
}

// listen notes what the coordinator is shown.
func (w *world) listen(ctx context.Context, info *tap.Info) (context.Context, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.given = append(w.given, info.Header.Get(people.Header)...)
	return ctx, nil
}

// endOnce has a watch end at its next message when w.ends, as the gate does.
func (w *world) endOnce(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return handler(server, &ending{stream, w})
}

type ending struct {
	grpc.ServerStream
	w *world
}

func (e *ending) SendMsg(m any) error {
	e.w.mu.Lock()
	ends := e.w.ends
	e.w.ends = false
	e.w.mu.Unlock()
	if ends {
		return grpcstatus.Error(codes.Unauthenticated, "your time is over")
	}
	return e.ServerStream.SendMsg(m)
}

// shown is what the coordinator was shown since the last time.
func (w *world) shown() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.Join(w.given, "\n")
	w.given = nil
	return all
}

// user is what the kubeconfig has of a person.
func (w *world) user(user string) {
	w.t.Helper()
	file := filepath.Join(w.dir, "kubeconfig")
	text, err := os.ReadFile(file)
	require.NoError(w.t, err)
	before, _, ok := strings.Cut(string(text), "users:")
	require.True(w.t, ok)
	text = []byte(before + "users: [{name: w, user: " + user + "}]}")
	require.NoError(w.t, os.WriteFile(file, text, 0o600))
}

// without has the API server refuse what is made at these paths.
func (w *world) without(paths ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = func(r *http.Request) *metav1.Status {
		for _, path := range paths {
			if strings.HasPrefix(r.URL.Path, path) {
				st := apierrors.NewForbidden(schema.GroupResource{}, path, fmt.Errorf("you may not")).Status()
				return &st
			}
		}
		return nil
	}
}

// plugin is a kubeconfig's user whose token comes from a program.
func (w *world) plugin() string {
	w.t.Helper()
	program := filepath.Join(w.dir, "plugin")
	require.NoError(w.t, os.WriteFile(program, []byte(`#!/bin/sh
echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "t"}}'
`), 0o700))
	return fmt.Sprintf(`{exec: {apiVersion: client.authentication.k8s.io/v1, command: %q, interactiveMode: Never}}`, program)
}

// tokenFile is a kubeconfig's user whose token is in a file.
func (w *world) tokenFile() string {
	w.t.Helper()
	file := filepath.Join(w.dir, "token")
	require.NoError(w.t, os.WriteFile(file, []byte("t\n"), 0o600))
	return fmt.Sprintf(`{tokenFile: %q}`, file)
}

// Whatever the kubeconfig has, people who may not read the reader's key are let in
// as themselves, and the coordinator is shown nothing of it.
func TestPeopleShowNoToken(t *testing.T) {
	w := newWorld(t, rolling(t))
	w.set(trustPath, w.trust)
	w.forbid(secretPath)
	for name, user := range map[string]string{
		"token": `{token: t}`, "file": w.tokenFile(), "plugin": w.plugin(), "no token": `{username: ada, password: x}`,
	} {
		w.user(user)
		w.must("plan", "search")
		w.must("explain", "search-0")
		for line := range strings.Lines(w.shown()) {
			require.True(t, strings.HasPrefix(line, "Request "), "%s: %s", name, line)
		}
	}
	code, _, stderr := w.run("plan", "search", "-n", "test")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, `ada may not get databaseclusters.rollcall.dev in namespace "test"`)
	_, _, stderr = w.run("plan", "search", "--as", "bob")
	require.Contains(t, stderr, `bob may not get databaseclusters.rollcall.dev in namespace "prod"`)
	w.user(`{token: u}`)
	_, _, stderr = w.run("explain", "search-0")
	require.Contains(t, stderr, `bob may not list databaseclusters.rollcall.dev in namespace "prod"`)

	left, err := w.kube.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, left.Items)
}

// The token of the kubeconfig is shown to those who ask for it.
func TestPeopleWhoSendTheirToken(t *testing.T) {
	w := newWorld(t, rolling(t))
	w.set(trustPath, w.trust)
	w.without(requestsPath, secretPath)
	w.user(`{token: t}`)
	_, _, stderr := w.run("plan", "search")
	require.Contains(t, stderr, "nothing was found that shows the coordinator who you are and reveals nothing else: create CertificateSigningRequest: ")
	require.Contains(t, stderr, "have somebody bind the ClusterRole rollcall-asker to you; or use --send-token, which shows the coordinator the token of your kubeconfig")
	require.Contains(t, stderr, "not permitted to get Secret rollcall-system/rollcall-reader")
	require.Empty(t, w.shown())

	for _, user := range []string{`{token: t}`, w.tokenFile(), w.plugin()} {
		w.user(user)
		w.must("plan", "search", "--send-token")
		require.Equal(t, "Bearer t", w.shown())
	}
	w.user(`{token: nobodys}`)
	_, _, stderr = w.run("plan", "search", "--send-token")
	require.Contains(t, stderr, "the API server does not know the token")
	w.user(`{username: ada, password: x}`)
	_, _, stderr = w.run("plan", "search", "--send-token")
	require.Contains(t, stderr, "this kubeconfig gives no token")
	require.Contains(t, stderr, "leave --send-token out")
	w.user(`{token: t}`)
	_, _, stderr = w.run("plan", "search", "--send-token", "--as", "bob")
	require.Contains(t, stderr, "this kubeconfig gives no token")
	_, _, stderr = w.run("plan", "search", "--send-token", "--coordinator", "127.0.0.1:1")
	require.Contains(t, stderr, "--send-token is for a coordinator that is found through the API server")
	w.forbid(trustPath)
	_, _, stderr = w.run("plan", "search", "--send-token")
	require.Contains(t, stderr, "bind the Role rollcall-asker of namespace rollcall-system")
}

// A ServiceAccount that may not make a request, and may make tokens of itself.
func TestServiceAccountsHaveATokenForTheCoordinator(t *testing.T) {
	w := newWorld(t, rolling(t))
	w.set(trustPath, w.trust)
	w.without(requestsPath, secretPath)
	w.set(whoPath, &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: bot}}})
	w.set(botPath, &authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{Token: "r"}})
	w.mu.Lock()
	var asked *authenticationv1.TokenRequest
	w.serving = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == botPath {
			var err error
			if asked, err = decode[*authenticationv1.TokenRequest](r); err != nil {
				t.Error(err)
			}
		}
		return false
	}
	w.mu.Unlock()
	w.must("plan", "search")
	require.Equal(t, "Bearer r", w.shown())
	require.Equal(t, []string{"rollcall"}, asked.Spec.Audiences)
	require.EqualValues(t, 600, *asked.Spec.ExpirationSeconds)

	w.without(requestsPath, secretPath, botPath)
	_, _, stderr := w.run("plan", "search")
	require.Contains(t, stderr, "bind the ClusterRole rollcall-asker")
}

// Where the API server has no CertificateSigningRequests, the error says so; who may
// read the reader's key goes on with it.
func TestPeopleWithoutRequests(t *testing.T) {
	w := newWorld(t, rolling(t))
	w.set(trustPath, w.trust)
	absent := func(also string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.refuse = func(r *http.Request) *metav1.Status {
			if r.URL.Path == requestsPath {
				st := apierrors.NewNotFound(schema.GroupResource{}, "").Status()
				return &st
			}
			if also != "" && strings.HasPrefix(r.URL.Path, also) {
				st := apierrors.NewForbidden(schema.GroupResource{}, "", fmt.Errorf("you may not")).Status()
				return &st
			}
			return nil
		}
	}
	absent("")
	w.must("plan", "search")
	require.Empty(t, w.shown(), "by the reader's certificate")
	absent(secretPath)
	_, _, stderr := w.run("plan", "search")
	require.Contains(t, stderr, "have the API server serve certificates.k8s.io/v1; or use --send-token")
	w.forbid("/api/v1/namespaces/rollcall-system/secrets/")
	_, _, stderr = w.run("plan", "search")
	require.Contains(t, stderr, "bind the Role rollcall-asker of namespace rollcall-system")

	// A request that fails is no refusal: nothing else is tried.
	w.mu.Lock()
	w.refuse = func(r *http.Request) *metav1.Status {
		if r.URL.Path == requestsPath {
			st := apierrors.NewInternalError(fmt.Errorf("no quorum")).Status()
			return &st
		}
		return nil
	}
	w.mu.Unlock()
	_, _, stderr = w.run("plan", "search")
	require.Contains(t, stderr, "create CertificateSigningRequest rollcall-asker-")
	require.Contains(t, stderr, "no quorum")
}

// No request is made where nobody would read it.
func TestNoRequestWithoutAWayThere(t *testing.T) {
	w := newWorld(t, rolling(t))
	w.set(trustPath, w.trust)
	w.forbid("/api/v1/namespaces/rollcall-system/pods")
	_, _, stderr := w.run("plan", "search")
	require.Contains(t, stderr, "port-forward to pod rollcall-system/rollcall-coordinator-7")
	left, err := w.kube.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, left.Items)
}

// A watch goes on, without a word, when what has shown who asks has ended.
func TestAWatchAsksAnew(t *testing.T) {
	w := newWorld(t, rolling(t))
	w.set(trustPath, w.trust)
	w.forbid(secretPath)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := w.start(ctx, "watch", "search", "--lines")
	r.says("search")
	first := w.shown()
	require.NotEmpty(t, first)
	w.mu.Lock()
	w.ends = true
	w.mu.Unlock()
	w.board.Publish(rolling(t, finished))
	r.says("phase  Done: 3 of 3 updated")
	again := w.shown()
	require.True(t, strings.HasPrefix(again, "Request "), again)
	require.NotEqual(t, first, again)
	require.NotContains(t, r.errOut.String(), "note:")
	cancel()
	r.end()
}
