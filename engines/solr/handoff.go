package solr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// handoff does one round: mark and prefer the successors, let Solr move the
// leaders, look what the cluster says. All collections at once: Solr takes some
// 3 s for each, however many it works on.
func (e *Engine) handoff(ctx context.Context, order engines.Order, node string) (engines.Progress, error) {
	state, err := e.api.clusterStatus(ctx, "")
	if err != nil {
		return engines.Progress{}, err
	}
	if order.Node != "" && !state.isLive(node) && state.hosted(node) == 0 {
		// An unknown name leads nothing, so it would be a false success.
		return engines.Progress{State: engines.ProgressRefused, Detail: fmt.Sprintf("no node %q in this cluster", engines.OneLine(node))}, nil
	}
	plan := planHandoff(state, node, order.Claim, order.Eligible)
	var commitTrouble string
	var commit sync.WaitGroup
	commit.Go(func() { commitTrouble = e.commitOnce(ctx, order, plan.commits) })
	moveErr := e.moveLeaders(ctx, order, plan.moves)
	commit.Wait()
	if ctx.Err() != nil {
		return engines.Progress{}, ctx.Err()
	}
	if plan.done() {
		return handedOver(plan, commitTrouble), nil
	}
	if state, err = e.api.clusterStatus(ctx, ""); err != nil {
		return engines.Progress{}, err
	}
	left := planHandoff(state, node, order.Claim, order.Eligible)
	if left.done() {
		return handedOver(left, commitTrouble), nil
	}
	if denied(moveErr) || errors.Is(moveErr, engines.ErrTooLate) {
		return engines.Progress{}, moveErr
	}
	detail := waitingText(left)
	if moveErr != nil {
		detail += ": " + moveErr.Error()
	}
	total := max(len(plan.moves), len(left.moves))
	return engines.Progress{State: engines.ProgressRunning, Detail: detail, Done: total - len(left.moves), Total: total}, nil
}

func handedOver(plan handoffPlan, trouble string) engines.Progress {
	var words []string
	if n := len(plan.stuck); n > 0 {
		words = append(words, fmt.Sprintf("%s stay: no other active copy can lead", engines.Some(plan.stuck)))
	}
	if trouble != "" {
		words = append(words, trouble)
	}
	return engines.Progress{State: engines.ProgressDone, Detail: strings.Join(words, "; ")}
}

func waitingText(plan handoffPlan) string {
	var words []string
	if len(plan.moves) > 0 {
		names := make([]string, len(plan.moves))
		for i, m := range plan.moves {
			names[i] = m.to.collection + "/" + m.to.shard
		}
		words = append(words, "still leads "+engines.Some(names))
	}
	if len(plan.leaderless) > 0 {
		words = append(words, "waiting for a leader of "+engines.Some(plan.leaderless))
	}
	return strings.Join(words, "; ")
}

// moveLeaders works on each collection on its own.
func (e *Engine) moveLeaders(ctx context.Context, order engines.Order, moves []move) error {
	var names []string
	byCollection := map[string][]move{}
	for _, m := range moves {
		if byCollection[m.to.collection] == nil {
			names = append(names, m.to.collection)
		}
		byCollection[m.to.collection] = append(byCollection[m.to.collection], m)
	}
	return e.each(names, func(name string) error { return e.moveCollection(ctx, order.NotAfter, name, byCollection[name]) })
}

func (e *Engine) moveCollection(ctx context.Context, notAfter time.Time, name string, moves []move) error {
	for _, m := range moves {
		if m.ready {
			continue
		}
		if err := e.prefer(ctx, notAfter, m); err != nil {
			return err
		}
	}
	if err := e.awaitPreferred(ctx, name, moves); err != nil {
		return err
	}
	if err := engines.InTime(notAfter); err != nil {
		return err
	}
	return e.api.rebalanceLeaders(ctx, name)
}

// prefer writes the mark first: a preferredLeader without a mark would count as foreign.
func (e *Engine) prefer(ctx context.Context, notAfter time.Time, m move) error {
	if err := engines.InTime(notAfter); err != nil {
		return err
	}
	if err := e.api.addReplicaProperty(ctx, m.to, propertyMark, m.mark.String()); err != nil {
		return fmt.Errorf("mark %s: %w", m.to, err)
	}
	if err := engines.InTime(notAfter); err != nil {
		return err
	}
	if err := e.api.addReplicaProperty(ctx, m.to, propertyPreferred, "true"); err != nil {
		return fmt.Errorf("prefer %s: %w", m.to, err)
	}
	return nil
}

// awaitPreferred waits until the local node has seen the properties: it serves REBALANCELEADERS
// from what it has seen, and reports success if that is nothing.
func (e *Engine) awaitPreferred(ctx context.Context, name string, moves []move) error {
	deadline := time.Now().Add(e.options.Timeout)
	for {
		state, err := e.api.clusterStatus(ctx, name)
		if err != nil {
			return err
		}
		missing := 0
		for _, m := range moves {
			if r, ok := state.find(m.to); !ok || !r.preferred {
				missing++
			}
		}
		if missing == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("collection %s: %d preferred leaders are not visible after %s", name, missing, e.options.Timeout)
		}
		if !engines.Sleep(ctx, e.options.Poll) {
			return ctx.Err()
		}
	}
}

func (c *clusterState) find(at place) (replica, bool) {
	for _, col := range c.collections {
		if col.name != at.collection {
			continue
		}
		for _, s := range col.shards {
			for _, r := range s.replicas {
				if s.name == at.shard && r.name == at.replica {
					return r, true
				}
			}
		}
	}
	return replica{}, false
}

// each runs f for all names, Options.Parallel at a time, and joins the errors.
func (e *Engine) each(names []string, f func(name string) error) error {
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
		errs []error
		room = make(chan struct{}, e.options.Parallel)
	)
	for _, name := range names {
		room <- struct{}{}
		wait.Go(func() {
			defer func() { <-room }()
			if err := f(name); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}
