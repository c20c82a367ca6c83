package solr

import (
	"context"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// commitTime bounds all commits of one round; a longer one goes on in Solr.
const commitTime = 10 * time.Second

// commitOnce makes the node's collections durable, so that the restart has less to
// replay. It returns in words how that failed.
func (e *Engine) commitOnce(ctx context.Context, order engines.Order, collections []string) string {
	return e.committed.Try(ctx, order, "commit", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, commitTime)
		defer cancel()
		return e.each(collections, func(name string) error { return e.api.commit(ctx, name) })
	})
}
