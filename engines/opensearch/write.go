package opensearch

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// archivedPrefix is what OpenSearch puts before the names of settings that its version does not
// know. From then on every change fails that does not remove them, even one that restores a value.
const archivedPrefix = "archived."

// asidePrefix begins the names under which their values are kept.
const asidePrefix = "cluster.metadata." + archivedPrefix

// write changes settings unless it is too late. If archived settings make a change fail, it moves
// them aside with the change: they have no effect any more, while a throttle that cannot be removed
// would last for ever.
func (e *Engine) write(ctx context.Context, notAfter time.Time, persistent, transient changes) error {
	if err := engines.InTime(notAfter); err != nil {
		return err
	}
	err := e.api.change(ctx, persistent, transient)
	if !refused(err) {
		return err
	}
	s, readErr := e.api.settings(ctx)
	if readErr != nil || len(s.archived()) == 0 {
		return err
	}
	if late := engines.InTime(notAfter); late != nil {
		return late
	}
	persistent, transient = s.moveAside(persistent, transient)
	if err := e.api.change(ctx, persistent, transient); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.moved = append(e.moved, s.archived()...)
	return nil
}

// archived returns the names of settings that this version does not know any more.
func (s settings) archived() []string {
	var out []string
	for _, level := range []map[string]string{s.persistent, s.transient} {
		for name := range level {
			if strings.HasPrefix(name, archivedPrefix) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// moveAside adds to a change the removal of all archived settings, and keeps their values under
// names that OpenSearch leaves to its users.
func (s settings) moveAside(persistent, transient changes) (p, t changes) {
	p, t = maps.Clone(persistent), maps.Clone(transient)
	if p == nil {
		p = changes{}
	}
	if t == nil {
		t = changes{}
	}
	for _, level := range []struct {
		of   map[string]string
		here changes
	}{{s.transient, t}, {s.persistent, p}} {
		for name, value := range level.of {
			if strings.HasPrefix(name, archivedPrefix) {
				level.here[name] = nil
				p.set(asidePrefix+strings.TrimPrefix(name, archivedPrefix), value)
			}
		}
	}
	return p, t
}

// tellMoved reports once what was moved aside.
func (e *Engine) tellMoved(p engines.Progress) engines.Progress {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.moved) == 0 || p.State == engines.ProgressUnknown {
		return p
	}
	words := "moved aside below " + asidePrefix + ", because every change failed: " + engines.Some(e.moved)
	e.moved = nil
	p.Detail = joinWords([]string{p.Detail, words})
	return p
}
