package opensearch

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/rollcall-dev/rollcall/engines/web"
)

// ErrNotOpenSearch means that something else answered.
var ErrNotOpenSearch = errors.New("not the answer of an OpenSearch")

// refused reports whether OpenSearch understood a change and refused it. A cluster that people made
// read-only answers as if the credentials were insufficient.
func refused(err error) bool {
	s, ok := web.Status(err)
	return ok && (!s.Denied() || s.Kind == "cluster_block_exception")
}

// errorText takes the kind and the words from an error body. Anything but the database's own form
// (a proxy's page, the security plugin's plain text) is ignored, because it may repeat what was
// sent.
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
	// The security plugin also names the user, whom the Secret names.
	words, _, _ = strings.Cut(f.Error.Reason, " and User [name=")
	return f.Error.Type, words
}
