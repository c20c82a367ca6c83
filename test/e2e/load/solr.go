package load

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

// Solr is a SolrCloud.
type Solr struct {
	// Leaders alone are asked what is there. Any other copy may show it later: one of type TLOG has first
	// to fetch it.
	Leaders bool
}

// Write is one update of one document, without a commit: of a batch that a node
// forwards to a leader that has just gone Solr 9.9 sends only the first document
// again, and acknowledges all (seen, see engines/solr/DESIGN.md). Nobody outside
// of Solr can mend that.
func (Solr) Write(collection, id string) Request {
	return Request{Method: http.MethodPost, Path: solrPath(collection) + "/update?wt=json", Body: marshal([]any{map[string]any{"id": id, "n_i": 1}})}
}

// Read wants an answer of every shard.
func (Solr) Read(collection string) Request {
	return Request{Method: http.MethodGet, Path: solrPath(collection) + "/select?q=*:*&rows=1&wt=json&shards.tolerant=false"}
}

// Again knows how Solr says that a node is not, or no longer, the right one.
func (Solr) Again(_ Request, status int, _ []byte) bool {
	return slices.Contains([]int{500, 503, 510}, status)
}

// There commits, and asks for all ids with the prefix at once.
func (s Solr) There(ask Ask, collection, prefix string, _ []string) (map[string]bool, error) {
	if err := ask("commit", Request{Method: http.MethodPost, Path: solrPath(collection) + "/update?commit=true&wt=json", Body: []byte("[]")}, nil); err != nil {
		return nil, err
	}
	var answer struct {
		Response struct {
			Docs []struct {
				ID string `json:"id"`
			} `json:"docs"`
		} `json:"response"`
	}
	q := url.Values{"q": {"id:" + prefix + "-*"}, "fl": {"id"}, "rows": {"1000000"}, "wt": {"json"}, "shards.tolerant": {"false"}}
	if s.Leaders {
		q.Set("shards.preference", "replica.leader:true")
	}
	if err := ask("count", Request{Method: http.MethodGet, Path: solrPath(collection) + "/select?" + q.Encode()}, &answer); err != nil {
		return nil, err
	}
	there := make(map[string]bool, len(answer.Response.Docs))
	for _, d := range answer.Response.Docs {
		there[d.ID] = true
	}
	return there, nil
}

func solrPath(collection string) string { return "/solr/" + url.PathEscape(collection) }

func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("%T: %v", v, err)) // maps of strings and numbers always marshal
	}
	return text
}
