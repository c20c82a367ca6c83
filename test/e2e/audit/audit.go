// Package audit counts what one account asked of the API server, by the API
// server's own audit log.
package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Request is one line of the log, as far as it is counted.
type Request struct {
	Verb string    `json:"verb"`
	At   time.Time `json:"requestReceivedTimestamp"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Annotations map[string]string `json:"annotations"`
}

// String is the request as one word: "patch pods/eviction demo/solr-0".
func (r Request) String() string {
	what := r.Object.Resource
	if r.Object.Subresource != "" {
		what += "/" + r.Object.Subresource
	}
	return fmt.Sprintf("%s %s %s/%s", r.Verb, what, r.Object.Namespace, r.Object.Name)
}

// Writes reports whether the request changes an object, or would.
func (r Request) Writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

// ReadFile reads what an account asked from a time on.
func ReadFile(file, user string, from time.Time) ([]Request, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	defer f.Close()
	return Read(f, user, from)
}

// Read reads what an account asked from a time on. The last line may be one
// that is still being written.
func Read(log io.Reader, user string, from time.Time) ([]Request, error) {
	var list []Request
	lines := bufio.NewReader(log)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		if !strings.Contains(string(line), user) {
			continue
		}
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("audit log, line %d: %w", n, err)
		}
		if r.User.Username == user && !r.At.Before(from) {
			list = append(list, r)
		}
	}
}

// Spent is what a rollout cost the API server.
type Spent struct {
	Writes []string // Events aside
	Lists  []string
}

// Cost counts the requests about one namespace.
func Cost(requests []Request, namespace string) Spent {
	var s Spent
	for _, r := range requests {
		switch {
		case r.Verb == "list":
			s.Lists = append(s.Lists, r.String())
		case r.Writes() && r.Object.Namespace == namespace && r.Object.Resource != "events":
			s.Writes = append(s.Writes, r.String())
		}
	}
	return s
}
