package rehearsal

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/test/e2e/load"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// settle is how long a document may take to show up: some replicas copy from
// their leader every few seconds.
const settle = time.Minute

// described bounds how many lost documents are told of one by one.
const described = 30

// lost adds the acknowledged documents of a client that are not there.
func (r Rehearsal) lost(ctx context.Context, client Client, out *Outcome) error {
	for _, collection := range client.Written() {
		gone, err := Gone(ctx, client, collection)
		if err != nil {
			return err
		}
		if r.Excused != nil {
			gone = slices.DeleteFunc(slices.Clone(gone), func(d load.Doc) bool {
				excused := r.Excused(collection, d)
				if excused {
					out.Excused = append(out.Excused, fmt.Sprintf("%s: %s", collection, d))
				}
				return excused
			})
		}
		if len(gone) > 0 {
			out.Lost[collection] = len(gone)
			out.Gone = append(out.Gone, r.whereabouts(ctx, collection, gone)...)
		}
	}
	return nil
}

// Gone are the acknowledged documents that a collection still does not show
// after a while.
func Gone(ctx context.Context, client Client, collection string) ([]load.Doc, error) {
	deadline := time.Now().Add(settle)
	for {
		gone, err := client.Gone(collection)
		if err != nil || len(gone) == 0 || time.Now().After(deadline) {
			return gone, err
		}
		if err := testbed.Pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// whereabouts asks every copy by itself for documents that the collection does
// not show: one that is on a follower alone was lost in another way than one
// that is nowhere.
func (r Rehearsal) whereabouts(ctx context.Context, collection string, gone []load.Doc) []string {
	var lines []string
	for doc := range slices.Values(gone[:min(len(gone), described)]) {
		lines = append(lines, fmt.Sprintf("%s: %s; %s", collection, doc, r.On.Holders(ctx, collection, doc.ID)))
	}
	if more := len(gone) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d more", collection, more))
	}
	return lines
}
