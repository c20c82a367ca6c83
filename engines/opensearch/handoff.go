package opensearch

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// flushTime bounds the flush of one claim; a longer one goes on in OpenSearch.
const flushTime = 15 * time.Second

// handoff does one round: let others decide, hold allocation back if the order
// says so, flush. Copies stay; when the node goes, replicas that are in sync become
// primaries at once.
func (e *Engine) handoff(ctx context.Context, order engines.Order, node string, r *reading) (engines.Progress, error) {
	progress, err := e.handVotes(ctx, order, node, r)
	if err != nil || progress.State != engines.Done {
		return progress, err
	}
	if err := e.throttle(ctx, order, r.settings); err != nil {
		return engines.Progress{}, err
	}
	words := []string{progress.Detail}
	if id, _ := r.state.byName(node); r.state.hosted(id) > 0 {
		words = append(words, e.flushOnce(ctx, order))
	}
	if ctx.Err() != nil {
		return engines.Progress{}, ctx.Err()
	}
	return engines.Progress{State: engines.Done, Detail: joinWords(words)}, nil
}

// flushOnce makes the copies durable, so that the restart has little to replay. It
// is tried once per claim: a failure costs time later, nothing else. It is answered as
// words.
func (e *Engine) flushOnce(ctx context.Context, order engines.Order) string {
	if engines.InTime(order.NotAfter) != nil {
		return ""
	}
	if err := e.flushed.Do(ctx, order.Claim, e.api.flush); err != nil {
		return fmt.Sprintf("flush failed: %v", err)
	}
	return ""
}

func joinWords(words []string) string {
	var out []string
	for _, w := range words {
		if w != "" {
			out = append(out, w)
		}
	}
	return strings.Join(out, "; ")
}
