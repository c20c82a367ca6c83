package solr

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"

	"github.com/rollcall-dev/rollcall/engines/web"
)

// ErrNotCloud means that the server is a Solr, but not a member of a SolrCloud.
var ErrNotCloud = errors.New("solr does not run in cloud mode")

// denied reports whether the credentials are missing, wrong or not enough.
func denied(err error) bool {
	s, ok := web.Status(err)
	return ok && s.Denied()
}

// failureBody is what v1 and v2 have in common when a call fails.
type failureBody struct {
	Header struct {
		Status flexInt `json:"status"`
	} `json:"responseHeader"`
	Error     *failureError `json:"error"`
	Exception *struct {
		Message flexString `json:"msg"`
		Code    flexInt    `json:"rspCode"`
	} `json:"exception"`
	// Message is where the node health call puts it.
	Message flexString `json:"message"`
}

// failureError is an object in most answers, and in 8.11 sometimes only the words.
type failureError struct {
	Message flexString `json:"msg"`
	Code    flexInt    `json:"code"`
}

func (e *failureError) UnmarshalJSON(data []byte) error {
	type object failureError
	if len(data) > 0 && data[0] == '{' {
		return json.Unmarshal(data, (*object)(e))
	}
	*e = failureError{Code: http.StatusBadRequest}
	return json.Unmarshal(data, &e.Message)
}

// maxFailure is how much of an answer is looked at for one.
const maxFailure = 64 << 10

// bodyFailure finds an error in an answer with status 200. It looks at short bodies only: an error
// is never long, and a large answer is decoded once, later.
func bodyFailure(body []byte) *web.StatusError {
	if len(body) > maxFailure && !bytes.Contains(body[len(body)-4<<10:], []byte(`"error"`)) {
		return nil
	}
	var f failureBody
	if json.Unmarshal(body, &f) != nil {
		return nil //nolint:nilerr // the caller's decoder says what is wrong with it
	}
	switch {
	case f.Error != nil:
		return &web.StatusError{Status: int(f.Error.Code), Message: string(f.Error.Message)}
	case f.Exception != nil:
		return &web.StatusError{Status: int(f.Exception.Code), Message: string(f.Exception.Message)}
	case f.Header.Status > 0:
		return &web.StatusError{Status: int(f.Header.Status)}
	}
	return nil
}

// errorText makes one line of an error body, JSON or HTML.
func errorText(body []byte) (kind, words string) {
	var f failureBody
	if json.Unmarshal(body, &f) == nil {
		switch {
		case f.Error != nil && f.Error.Message != "":
			return "", string(f.Error.Message)
		case f.Exception != nil && f.Exception.Message != "":
			return "", string(f.Exception.Message)
		default:
			return "", string(f.Message)
		}
	}
	if len(body) > 16<<10 {
		body = body[:16<<10]
	}
	if title := htmlTitle.FindSubmatch(body); title != nil {
		return "", string(title[1])
	}
	return "", "" // not Solr's own message
}

var htmlTitle = regexp.MustCompile(`(?is)<title>([^<]*)</title>`)
