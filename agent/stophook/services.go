package stophook

import (
	"context"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/agent/probe"
)

// rolePrimary is the role by which Services select the member that takes writes.
const rolePrimary = "primary"

// servicesFollow is how long a member stays that has handed over the role of primary. Until the new
// primary's pod is labelled, and all proxies know it, Services lead new clients to this one. While its
// server runs it tells them at once that it takes no writes; one that shuts down leaves them without
// an answer.
const servicesFollow = 2 * time.Second

// leads reports whether the newest probe found the member to be the primary.
func (h *Hook) leads() bool {
	v, _ := h.Board.Latest()
	return isPrimary(v.Result)
}

func isPrimary(look probe.Result) bool {
	return look.Live() && slices.Contains(look.Observation.Roles, rolePrimary)
}

// letServicesFollow waits for servicesFollow, unless the member is found to be the primary still, or
// away.
func (h *Hook) letServicesFollow(ctx context.Context) {
	began := time.Now()
	for time.Since(began) < servicesFollow {
		v, _ := h.Board.Latest()
		if v.Result.Started.After(began) && (isPrimary(v.Result) || !v.Result.Live()) {
			return
		}
		select {
		case <-time.After(servicesFollow / 20): // the board tells only of what changes
		case <-ctx.Done():
			return
		}
	}
}
