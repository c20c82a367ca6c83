package opensearch

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"
)

var (
	// ErrClosed: the engine was closed.
	ErrClosed = errors.New("engine is closed")
	// ErrTooLarge: an answer is longer than Options.MaxBytes.
	ErrTooLarge = errors.New("answer is longer than the limit")
	// ErrTooLate: a write was due after Order.NotAfter.
	ErrTooLate = errors.New("too late to start a change")
	// ErrUndo: the undo bytes are not from this adapter.
	ErrUndo = errors.New("undo bytes are not readable")
	// ErrOrder: the order itself is wrong.
	ErrOrder = errors.New("order is not valid")
	// ErrShared: the setting is none of this adapter's, or cannot be put back so.
	ErrShared = errors.New("shared setting is not valid")
	// ErrNotOpenSearch: something else answered.
	ErrNotOpenSearch = errors.New("not the answer of an OpenSearch")
)

// StatusError is an answer of OpenSearch that says that a request failed.
type StatusError struct {
	// What is the method and the path.
	What string
	// Status is the HTTP status.
	Status int
	// Kind is OpenSearch's name of the failure, such as settings_exception.
	Kind string
	// Message of OpenSearch, one line, bounded, without credentials.
	Message string
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s: opensearch answered %d", e.What, e.Status)
	if name := http.StatusText(e.Status); name != "" {
		text += " " + name
	}
	if e.Kind != "" {
		text += ": " + e.Kind
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// denied tells whether the credentials are missing, wrong or not enough. A cluster
// that people made read-only answers the same status to everybody.
func denied(err error) bool {
	var s *StatusError
	return errors.As(err, &s) && (s.Status == http.StatusUnauthorized ||
		s.Status == http.StatusForbidden && s.Kind != "cluster_block_exception")
}

// refused tells whether OpenSearch understood a change and would not do it.
func refused(err error) bool {
	var s *StatusError
	return errors.As(err, &s) && !denied(err)
}

// errorText takes the kind and the words from an error body. Anything but the
// database's own form (a proxy's page, the security plugin's plain text) is
// nobody's business: it may repeat what was sent.
func errorText(body []byte) (kind, words string) {
	var f struct {
		Error struct {
			Type   string `json:"type"`
			Reason string `json:"reason"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &f) != nil {
		return "", ""
	}
	return oneLine(f.Error.Type), oneLine(f.Error.Reason)
}

const maxMessage = 300

// oneLine makes foreign text fit for an error: printable, single-spaced, bounded.
func oneLine(text string) string {
	if len(text) > 4*maxMessage {
		text = text[:4*maxMessage]
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxMessage {
		text = string(runes[:maxMessage]) + "..."
	}
	return text
}

// inTime refuses to start a change past the order's end.
func inTime(notAfter time.Time) error {
	if !notAfter.IsZero() && time.Now().After(notAfter) {
		return ErrTooLate
	}
	return nil
}
