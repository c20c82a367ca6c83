package solr

import (
	"context"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// commitTime bounds all commits of one round; a longer one goes on in Solr.
const commitTime = 10 * time.Second

// commitOnce makes the node's collections durable, once per claim, so that the
// restart has little to replay. A failure costs time later, nothing else; it is
// answered as words.
func (e *Engine) commitOnce(ctx context.Context, order engines.Order, collections []string) string {
	e.mu.Lock()
	again := e.committed == order.Claim
	e.mu.Unlock()
	if again || engines.InTime(order.NotAfter) != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	err := e.each(collections, func(name string) error { return e.api.commit(ctx, name) })
	if err != nil {
		return fmt.Sprintf("commit failed: %v", err)
	}
	e.mu.Lock()
	e.committed = order.Claim
	e.mu.Unlock()
	return ""
}
