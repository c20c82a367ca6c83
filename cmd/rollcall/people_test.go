package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"
)

// review answers the coordinator's questions about people: the token t is Ada's,
// who may read in namespace prod, and u is Bob's, who may read nothing.
func (w *world) review(action k8stesting.Action) (bool, runtime.Object, error) {
	switch review := action.(k8stesting.CreateAction).GetObject().(type) {
	case *authenticationv1.TokenReview:
		name, ok := map[string]string{"t": "ada", "u": "bob"}[review.Spec.Token]
		review.Status.Authenticated, review.Status.User.Username = ok && len(review.Spec.Audiences) == 0, name
		return true, review, nil
	case *authorizationv1.SubjectAccessReview:
		review.Status.Allowed = review.Spec.User == "ada" && review.Spec.ResourceAttributes.Namespace == "prod"
		return true, review, nil
	}
	return false, nil, nil
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

// People who may not read the reader's key are let in by their token.
func TestPeopleShowTheirToken(t *testing.T) {
	w := newWorld(t, rolling(t))
	w.set(trustPath, w.trust)
	w.forbid(secretPath)
	w.must("plan", "search")
	w.must("explain", "search-0")

	code, _, stderr := w.run("plan", "search", "-n", "test")
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, `ada may not get databaseclusters.rollcall.dev in namespace "test"`)

	w.user(`{token: u}`)
	code, _, stderr = w.run("explain", "search-0")
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, `bob may not list databaseclusters.rollcall.dev in namespace "prod"`)
	w.user(`{token: nobodys}`)
	_, _, stderr = w.run("plan", "search")
	require.Contains(t, stderr, "the API server does not know the token")

	file := filepath.Join(w.dir, "token")
	require.NoError(t, os.WriteFile(file, []byte("t\n"), 0o600))
	w.user(fmt.Sprintf(`{tokenFile: %q}`, file))
	w.must("plan", "search")

	plugin := filepath.Join(w.dir, "plugin")
	require.NoError(t, os.WriteFile(plugin, []byte(`#!/bin/sh
echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "t"}}'
`), 0o700))
	w.user(fmt.Sprintf(`{exec: {apiVersion: client.authentication.k8s.io/v1, command: %q, interactiveMode: Never}}`, plugin))
	w.must("plan", "search")
}

// Who has no token that the coordinator could ask about needs the reader's key.
func TestPeopleWithoutAToken(t *testing.T) {
	w := newWorld(t, rolling(t))
	w.set(trustPath, w.trust)
	for _, args := range [][]string{{}, {"--as", "bob"}} {
		if len(args) == 0 {
			w.user(`{username: ada, password: x}`)
		} else {
			w.user(`{token: t}`)
		}
		w.must(append([]string{"plan", "search"}, args...)...)
	}
	w.forbid(secretPath)
	w.user(`{username: ada, password: x}`)
	_, _, stderr := w.run("plan", "search")
	require.Contains(t, stderr, "not permitted to get Secret rollcall-system/rollcall-reader: ")
	require.Contains(t, stderr, "this kubeconfig gives no token")
	require.Contains(t, stderr, "bind the Role rollcall-reader of namespace rollcall-system")

	w.user(`{token: t}`)
	w.forbid("/api/v1/namespaces/rollcall-system/secrets/")
	_, _, stderr = w.run("plan", "search")
	require.Contains(t, stderr, "bind the Role rollcall-asker of namespace rollcall-system")
}
