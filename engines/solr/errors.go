package solr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"unicode"
)

var (
	// ErrClosed: the engine was closed.
	ErrClosed = errors.New("engine is closed")
	// ErrTooLarge: an answer is longer than Options.MaxBytes.
	ErrTooLarge = errors.New("answer is longer than the limit")
	// ErrTooLate: a write was due after Order.NotAfter.
	ErrTooLate = errors.New("too late to start a change")
	// ErrNotCloud: the server is a Solr, but not a member of a SolrCloud.
	ErrNotCloud = errors.New("solr does not run in cloud mode")
	// ErrUndo: the undo bytes are not from this adapter.
	ErrUndo = errors.New("undo bytes are not readable")
	// ErrOrder: the order itself is wrong.
	ErrOrder = errors.New("order is not valid")
)

// StatusError is an answer of Solr that says that a request failed.
type StatusError struct {
	// What is the path and the action.
	What string
	// Status is the HTTP status, or the status in the body when HTTP said 200.
	Status int
	// Message of Solr, one line, bounded, without credentials.
	Message string
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s: solr answered %d", e.What, e.Status)
	if name := http.StatusText(e.Status); name != "" {
		text += " " + name
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// denied tells whether the credentials are missing, wrong or not enough.
func denied(err error) bool {
	var s *StatusError
	return errors.As(err, &s) && (s.Status == http.StatusUnauthorized || s.Status == http.StatusForbidden)
}

// failureBody is what v1 and v2 have in common when a call fails.
type failureBody struct {
	Header struct {
		Status flexInt `json:"status"`
	} `json:"responseHeader"`
	Error *struct {
		Message flexString `json:"msg"`
		Code    flexInt    `json:"code"`
	} `json:"error"`
	Exception *struct {
		Message flexString `json:"msg"`
		Code    flexInt    `json:"rspCode"`
	} `json:"exception"`
	// Message is where the node health call puts it.
	Message flexString `json:"message"`
}

// bodyFailure finds an error in an answer with status 200. Only short bodies are
// looked at: an error is never long, and a large answer is decoded once, later.
func bodyFailure(body []byte) *StatusError {
	if len(body) > 64<<10 && !bytes.Contains(body[len(body)-4<<10:], []byte(`"error"`)) {
		return nil
	}
	var f failureBody
	if json.Unmarshal(body, &f) != nil {
		return nil // the caller's decoder says what is wrong with it
	}
	switch {
	case f.Error != nil:
		return &StatusError{Status: int(f.Error.Code), Message: oneLine(string(f.Error.Message))}
	case f.Exception != nil:
		return &StatusError{Status: int(f.Exception.Code), Message: oneLine(string(f.Exception.Message))}
	case f.Header.Status > 0:
		return &StatusError{Status: int(f.Header.Status)}
	}
	return nil
}

// errorText makes one line of an error body, JSON or HTML.
func errorText(body []byte) string {
	var f failureBody
	if json.Unmarshal(body, &f) == nil {
		switch {
		case f.Error != nil && f.Error.Message != "":
			return oneLine(string(f.Error.Message))
		case f.Exception != nil && f.Exception.Message != "":
			return oneLine(string(f.Exception.Message))
		default:
			return oneLine(string(f.Message))
		}
	}
	if len(body) > 16<<10 {
		body = body[:16<<10]
	}
	if title := htmlTitle.FindSubmatch(body); title != nil {
		return oneLine(string(title[1]))
	}
	return "" // not Solr's words, so nobody's business
}

var htmlTitle = regexp.MustCompile(`(?is)<title>([^<]*)</title>`)

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
