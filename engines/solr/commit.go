package solr

import (
	"context"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// commitTime bounds all commits of one round; a longer one goes on in Solr.
const commitTime = 10 * time.Second

// commitOnce makes the node's collections durable, so that the restart has little
// to replay. It is tried once per claim: a failure costs time later, nothing else. It
// is answered as words.
func (e *Engine) commitOnce(ctx context.Context, order engines.Order, collections []string) string {
	if engines.InTime(order.NotAfter) != nil {
		return ""
	}
	err := e.committed.Do(ctx, order.Claim, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, commitTime)
		defer cancel()
		return e.each(collections, func(name string) error { return e.api.commit(ctx, name) })
	})
	if err != nil {
		return fmt.Sprintf("commit failed: %v", err)
	}
	return ""
}
