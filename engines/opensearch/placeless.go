package opensearch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// mostExplained is the number of shards for which OpenSearch is asked, one request each, why their
// replicas are unassigned. If there are more, they have a common reason that a person has to find;
// they count as if a node could take them.
const mostExplained = 16

// explain asks of each undecided shard whether any node may take its replica. What was
// found counts for the state of the reading alone, so that must be the newest after it.
func (a *api) explain(ctx context.Context, r *reading) error {
	r.placeless, r.explained = nil, time.Now()
	shards := r.undecided()
	if len(shards) == 0 || len(shards) > mostExplained {
		return nil
	}
	found := map[string]bool{}
	for _, s := range shards {
		no, err := a.placeless(ctx, s)
		if _, ok := errors.AsType[*web.StatusError](err); ok {
			return nil // it may not be asked, or is not there any more
		}
		if err != nil {
			return err
		}
		found[s.String()] = no
	}
	now, err := a.head(ctx, false)
	if err == nil && now.ID == r.state.id {
		r.placeless = found
	}
	return err
}

// explainAgain is after how long it is asked again where the answer was none, or another one than "no": what
// it says can change while the state does not.
const explainAgain = 10 * time.Second

// explainLater asks again of the same state, now and then, as long as anything is undecided.
func (a *api) explainLater(ctx context.Context, r *reading) error {
	if time.Since(r.explained) < explainAgain || len(r.undecided()) == 0 {
		return nil
	}
	return a.explain(ctx, r)
}

// placeless asks whether no node may take an unassigned replica of the shard. The answer is
// computed then, by all rules of OpenSearch.
func (a *api) placeless(ctx context.Context, s shard) (no bool, err error) {
	number, err := strconv.Atoi(s.number)
	if err != nil {
		return false, fmt.Errorf("shard %s: %w", engines.OneLine(s.String()), err)
	}
	return fetch(ctx, a, web.Request{
		Method: http.MethodPost, Path: pathExplain, Params: web.Query("filter_path", "index,shard,primary,current_state,can_allocate"),
		Body: map[string]any{"index": s.index, "shard": number, "primary": false},
	}, func(body io.Reader) (bool, error) { return decodeExplanation(body, s.index, number) })
}

// decodeExplanation reports whether the answer is "no": no node may take the copy. Any other answer
// may change by itself: "throttled", "awaiting_info", "allocation_delayed", "yes".
func decodeExplanation(r io.Reader, index string, number int) (no bool, err error) {
	var answer struct {
		Index       string `json:"index"`
		Shard       *int   `json:"shard"`
		Primary     *bool  `json:"primary"`
		State       string `json:"current_state"`
		CanAllocate string `json:"can_allocate"`
	}
	if err := decode(r, "allocation explanation", &answer); err != nil {
		return false, err
	}
	if answer.Index != index || answer.Shard == nil || *answer.Shard != number || answer.Primary == nil {
		return false, fmt.Errorf("decode allocation explanation: not about %s/%d: %w", engines.OneLine(index), number, ErrNotOpenSearch)
	}
	return !*answer.Primary && answer.State == "unassigned" && answer.CanAllocate == "no", nil
}
