package opensearch

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// flushTime bounds the flush of one claim; a longer one goes on in OpenSearch.
const flushTime = 15 * time.Second

// handoff does one round: it gives away the node's votes, restricts allocation if the order says
// so, and flushes. Copies stay. When the node goes, replicas that are in sync become primaries at
// once.
func (e *Engine) handoff(ctx context.Context, order engines.Order, node string, r *reading) (engines.Progress, error) {
	progress, err := e.handVotes(ctx, order, node, r)
	if err != nil || progress.State != engines.ProgressDone {
		return progress, err
	}
	if err := e.throttle(ctx, order, r.settings); err != nil {
		return engines.Progress{}, err
	}
	words := []string{progress.Detail}
	if id, _ := r.state.byName(node); r.state.hosted(id) > 0 {
		words = append(words, e.flushed.Try(ctx, order, "flush", e.api.flush)) // the restart has less to replay
	}
	if ctx.Err() != nil {
		return engines.Progress{}, ctx.Err()
	}
	return engines.Progress{State: engines.ProgressDone, Detail: joinWords(words)}, nil
}

func joinWords(words []string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), "; ")
}
