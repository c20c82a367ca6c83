package load

import (
	"fmt"
	"net/url"
	"slices"
	"time"
)

// maxAnswer bounds what is read of one answer: all ids of a long run fit.
const maxAnswer = 32 << 20

// Doc is a document that was acknowledged.
type Doc struct {
	ID string
	// Acked is when the acknowledgement came, Through is the pod that gave it.
	Acked   time.Time
	Through string
}

func (d Doc) String() string {
	return fmt.Sprintf("%s, acknowledged at %s by %s", d.ID, d.Acked.Format("15:04:05.000"), d.Through)
}

// Gone are the acknowledged documents that a collection does not show, after a
// commit. Each document is looked for by its id: one that is there without
// having been acknowledged does not stand for one that is lost.
func (c *Client) Gone(collection string) ([]Doc, error) {
	at := "/solr/" + url.PathEscape(collection)
	if _, ok := c.request("commit", collection, at+"/update?commit=true&wt=json", []byte("[]"), nil); !ok {
		return nil, fmt.Errorf("load: commit of %s failed", collection)
	}
	var answer struct {
		Response struct {
			Docs []struct {
				ID string `json:"id"`
			} `json:"docs"`
		} `json:"response"`
	}
	q := url.Values{"q": {"id:" + c.opts.Prefix + "-*"}, "fl": {"id"}, "rows": {"1000000"}, "wt": {"json"}, "shards.tolerant": {"false"}}
	if _, ok := c.request("count", collection, at+"/select?"+q.Encode(), nil, &answer); !ok {
		return nil, fmt.Errorf("load: what is in %s could not be asked", collection)
	}
	there := make(map[string]bool, len(answer.Response.Docs))
	for _, d := range answer.Response.Docs {
		there[d.ID] = true
	}
	c.stats.mu.Lock()
	defer c.stats.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.stats.acked[collection]), func(d Doc) bool { return there[d.ID] }), nil
}
