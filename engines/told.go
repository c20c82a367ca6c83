package engines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrNotServing means that the local server does not serve, or does not say all that is needed.
var ErrNotServing = errors.New("the local server does not serve")

// Unserved returns the error of a local server that does not serve, or nothing as long as its node is
// not known. problem says what is wrong with it.
func Unserved(ctx context.Context, serving bool, node, problem string) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !serving || node == "":
		return fmt.Errorf("%w: %s", ErrNotServing, problem)
	}
	return nil
}

// Unanswered returns why a look at the local server failed, which was bounded by limit. late means that
// the server has not answered within it.
func Unanswered(ctx context.Context, err error, limit time.Duration) (why string, late bool) {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return "the server has not answered within " + Duration(limit), true
	}
	return OneLine(err.Error()), false
}

// Tell returns as JSON what the local member says of itself to another agent: the newest look, or what
// look returns if fresh is set or nobody has looked yet.
func Tell[S interface{ Told(now time.Time) S }](ctx context.Context, newest S, fresh bool, look func(context.Context) S) ([]byte, error) {
	if fresh {
		newest = look(context.WithoutCancel(ctx)) // other callers need it too, and it has its own timeout
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return json.Marshal(newest.Told(time.Now()))
}

// Hear returns what another member's agent tells of it. why is the reason if nothing is known. check
// says what is wrong with what was told; empty means nothing.
func Hear[S interface{ Heard(asked time.Time) S }](
	ctx context.Context, peers Peers, peer Peer, timeout time.Duration, fresh bool, check func(S) string,
) (told S, why string) {
	var nothing S
	asked := time.Now()
	if err := LookAt(ctx, peers, peer, timeout, fresh, &told); err != nil {
		return nothing, OneLine(err.Error())
	}
	if why := check(told); why != "" {
		return nothing, why
	}
	return told.Heard(asked), ""
}

// CallsItself says that a member tells another name than its agent reported.
func CallsItself(node string) string { return fmt.Sprintf("it calls itself %q", OneLine(node)) }

// OfEach asks all other members at once, and returns the answers in the order of the list. Nil peers
// mean that there are none.
func OfEach[M any](peers Peers, ask func(Peer) M) []M {
	if peers == nil {
		return nil
	}
	list := peers.List()
	out := make([]M, len(list))
	var wg sync.WaitGroup
	for i, peer := range list {
		wg.Go(func() { out[i] = ask(peer) })
	}
	wg.Wait()
	return out
}

// ObserveAgain observes what the newest looks of all members say. Unless that is calm, they look again
// before it is said: their looks are up to a second apart, and much changes in between.
func ObserveAgain[V any](gather func(fresh bool) (V, error), observe func(V) Observation, calm func(V, Observation) bool) (Observation, error) {
	v, err := gather(false)
	if err != nil {
		return Observation{}, err
	}
	if o := observe(v); calm(v, o) {
		return o, nil
	}
	if v, err = gather(true); err != nil {
		return Observation{}, err
	}
	return observe(v), nil
}
