package load

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

// lookedAtOnce is how many documents are looked for by one request.
const lookedAtOnce = 2000

// OpenSearch is an OpenSearch whose collections are indices.
type OpenSearch struct{}

// Write indexes one document.
func (OpenSearch) Write(collection, id string) Request {
	return Request{Method: http.MethodPut, Path: indexPath(collection) + "/_doc/" + url.PathEscape(id), Body: marshal(map[string]any{"n": 1})}
}

// Read wants an answer of every shard: without the parameter OpenSearch leaves
// out those that do not answer.
func (OpenSearch) Read(collection string) Request {
	return Request{Method: http.MethodGet, Path: indexPath(collection) + "/_search?size=1&allow_partial_search_results=false"}
}

// Again is what OpenSearch's own clients try again on another node, and a search
// that lost a node between its two halves: it ends with 404 or 500, and the
// other copies are not asked (seen on 2.19.6).
func (OpenSearch) Again(r Request, status int, answer []byte) bool {
	return slices.Contains([]int{502, 503, 504}, status) || r.Method == http.MethodGet && bytes.Contains(answer, []byte(`"phase":"fetch"`))
}

// There looks for each document by its id, whether or not a search shows it already.
func (OpenSearch) There(ask Ask, collection, _ string, ids []string) (map[string]bool, error) {
	there := make(map[string]bool, len(ids))
	for some := range slices.Chunk(ids, lookedAtOnce) {
		var answer struct {
			Docs []struct {
				ID    string `json:"_id"`
				Found bool   `json:"found"`
				Error any    `json:"error"`
			} `json:"docs"`
		}
		r := Request{Method: http.MethodPost, Path: indexPath(collection) + "/_mget?_source=false", Body: marshal(map[string]any{"ids": some})}
		if err := ask("look", r, &answer); err != nil {
			return nil, err
		}
		if len(answer.Docs) != len(some) {
			return nil, fmt.Errorf("load: %d of %d documents of %s were answered", len(answer.Docs), len(some), collection)
		}
		for _, d := range answer.Docs {
			if d.Error != nil {
				return nil, fmt.Errorf("load: %s of %s could not be looked for: %v", d.ID, collection, d.Error)
			}
			there[d.ID] = d.Found
		}
	}
	return there, nil
}

func indexPath(collection string) string { return "/" + url.PathEscape(collection) }
