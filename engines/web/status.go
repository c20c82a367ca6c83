package web

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
)

// StatusError is an answer in which the server says that a request failed.
type StatusError struct {
	// Server is the database, in lower case.
	Server string
	// Name is the name of the call, see Request.
	Name string
	// Status is the HTTP status, or the one in the body when HTTP said 200.
	Status int
	// Kind is the server's name of the failure, if it has one.
	Kind string
	// Message is the server's message in one bounded line, without credentials.
	Message string
	// Likely is what a person most likely has to change; empty means that it is not known.
	Likely string
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s: %s answered %d", e.Name, e.Server, e.Status)
	if name := http.StatusText(e.Status); name != "" {
		text += " " + name
	}
	if e.Kind != "" {
		text += ": " + e.Kind
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Likely != "" {
		text += "; " + e.Likely
	}
	return text
}

// Denied reports whether the credentials are missing, wrong or insufficient.
func (e *StatusError) Denied() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// Status returns the StatusError in err, if there is one.
func Status(err error) (*StatusError, bool) {
	var s *StatusError
	return s, errors.As(err, &s)
}

// named fills in the server and the call of the error, and makes the server's words fit to be
// shown.
func (e *StatusError) named(server, name, user string, password credentials.Secret) *StatusError {
	return &StatusError{
		Server: server, Name: name, Status: e.Status,
		Kind: shown(e.Kind, user, password), Message: shown(e.Message, user, password),
	}
}

// shown hides credentials in the text, since a server may echo what it was sent.
func shown(text, user string, password credentials.Secret) string {
	if user != "" && password.Reveal() != "" {
		text = strings.NewReplacer(BasicToken(user, password), credentials.Hidden, password.Reveal(), credentials.Hidden).Replace(text)
	}
	return engines.OneLine(text)
}

// fit makes an error fit to be shown that may quote what the server sent, such as an error about an
// answer that is not HTTP or not the expected JSON.
func fit(err error, user string, password credentials.Secret) error {
	if text := shown(err.Error(), user, password); text != err.Error() {
		return &fitError{text, err}
	}
	return err
}

type fitError struct {
	text  string
	cause error
}

func (e *fitError) Error() string { return e.text }
func (e *fitError) Unwrap() error { return e.cause }

// BasicToken returns what basic authentication sends.
func BasicToken(user string, password credentials.Secret) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password.Reveal())
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Basic ")
}
