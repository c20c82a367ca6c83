package load

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// maxAnswer bounds what is read of one answer: all ids of a long run fit.
const maxAnswer = 32 << 20

// Doc is a document that was acknowledged.
type Doc struct {
	ID string
	// Acked is when the acknowledgement came, Through is the pod that gave it, Sent
	// is when it was asked, where that is known.
	Acked   time.Time
	Sent    time.Time
	Through string
}

func (d Doc) String() string {
	return fmt.Sprintf("%s, acknowledged at %s by %s", d.ID, d.Acked.Format("15:04:05.000"), d.Through)
}

// Written are the collections with acknowledged documents.
func (c *Client) Written() []string {
	return slices.Sorted(maps.Keys(c.Stats().Acked))
}

// Gone are the acknowledged documents that a collection does not show. Each
// document is looked for by its id: one that is there without having been
// acknowledged does not stand for one that is lost.
func (c *Client) Gone(collection string) ([]Doc, error) {
	acked := c.stats.docs(collection)
	ids := make([]string, len(acked))
	for i, d := range acked {
		ids[i] = d.ID
	}
	ask := func(what string, r Request, into any) error {
		if _, ok := c.request(what, collection, r, into); !ok {
			return fmt.Errorf("load: %s of %s failed", what, collection)
		}
		return nil
	}
	there, err := c.opts.Database.There(ask, collection, c.opts.Prefix, ids)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(acked, func(d Doc) bool { return there[d.ID] }), nil
}
