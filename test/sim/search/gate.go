package search

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"
)

// digest stands for a history. Histories that differ only in the order of independent steps have
// the same digest.
type digest [16]byte

func (d digest) and(what ...any) digest {
	sum := sha256.Sum256(fmt.Append(d[:], what...))
	return digest(sum[:16])
}

// change records that an object has changed.
func (w *world) change(object string, by digest, how string) {
	w.versions[object] = w.versions[object].and(by, how)
}

// call says what a request is about.
type call struct {
	verb, object string
	write        bool
}

// request waits at the gate until the search lets it through.
type request struct {
	call
	from *leader
	// history is the history of the sender when it was sent: all that its contents depend on.
	history digest
	serve   func() error
	answer  chan error
}

func (r *request) String() string { return r.from.name + ": " + r.verb + " " + r.object }

// ask sends a request and waits for its answer.
func ask[T any](ctx context.Context, l *leader, c call, serve func() (T, error)) (T, error) {
	var out, none T
	r := &request{call: c, from: l, answer: make(chan error, 1)}
	r.serve = func() (err error) {
		out, err = serve()
		return err
	}
	l.w.mu.Lock()
	r.history = l.history
	l.w.pending = append(l.w.pending, r)
	l.w.mu.Unlock()
	select {
	case <-ctx.Done():
		return none, ctx.Err()
	case err := <-r.answer:
		if err != nil {
			return none, err
		}
		return out, nil
	}
}

// carryOut applies the request to the world, or refuses it.
func (w *world) carryOut(r *request) error {
	err := r.serve()
	if err == nil && r.write {
		w.change(r.object, r.history, r.verb)
	}
	return err
}

// answer carries out a request and answers its sender.
func (w *world) answer(r *request) string {
	err := w.carryOut(r)
	seen := w.versions[r.object]
	if r.verb == look {
		seen = w.versions[members]
	}
	r.from.learn(r.call, err, seen)
	r.answer <- err
	return outcome(err)
}

// lose makes the sender give up waiting; the request may still be carried out.
func (w *world) lose(r *request) string {
	w.losses--
	w.floats = append(w.floats, r)
	r.from.learn(r.call, "no answer")
	r.answer <- context.DeadlineExceeded
	return "no answer in time"
}

func outcome(err error) string {
	if err == nil {
		return "done"
	}
	return err.Error()
}

// learn adds to a leader's history.
func (l *leader) learn(what ...any) {
	l.history = l.history.and(time.Since(l.w.began), what)
}

// choice is one thing that may happen next.
type choice struct {
	// label identifies it.
	label string
	// by is the leader that it advances; rare means that it is a failure.
	by   string
	rare bool
	// reads and writes are the objects on which it depends and which it changes.
	reads, writes []string
	do            func() string
}

// apart reports whether the order of two possible choices makes no difference.
func (c choice) apart(d choice) bool {
	meet := func(a, b []string) bool {
		return slices.ContainsFunc(a, func(o string) bool { return o == all || slices.Contains(b, o) || slices.Contains(b, all) })
	}
	return c.by != d.by && !meet(c.writes, d.writes) && !meet(c.writes, d.reads) && !meet(c.reads, d.writes)
}

// touches returns the objects on which a request depends and which it changes.
func (r *request) touches() (reads, writes []string) {
	switch {
	case r.verb == look:
		return append([]string{members}, names...), nil
	case r.verb == "evict":
		return []string{database}, []string{r.object, members}
	case r.write:
		return names, []string{r.object}
	}
	return []string{r.object}, nil
}

// choices are all of them, always in the same order.
func (w *world) choices() []choice {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortFunc(w.pending, func(a, b *request) int { return cmp.Compare(a.String(), b.String()) })
	var list []choice
	shown := w.podsDigest()
	for _, l := range w.leaders {
		list = append(list, l.choices(shown)...)
	}
	for i, r := range w.floats {
		reads, writes := r.touches()
		list = append(list, choice{label: r.String() + ", late", by: fmt.Sprint("late ", r.history), reads: reads, writes: writes, do: func() string {
			w.floats = slices.Delete(w.floats, i, i+1)
			return outcome(w.carryOut(r))
		}})
	}
	for _, name := range names {
		if w.pod(name).DeletionTimestamp != nil {
			list = append(list, choice{label: name + " has stopped and is back", by: name, writes: []string{name, members}, do: func() string { w.back(name); return "" }})
		}
	}
	return list
}

// choices returns the choices of a leader; shown is what its cache of pods could show.
func (l *leader) choices(shown digest) []choice {
	w := l.w
	var list []choice
	var looks []*request
	waits := false
	for _, r := range w.pending {
		switch {
		case r.from != l:
			continue
		case r.verb == look:
			looks = append(looks, r)
		default:
			reads, writes := r.touches()
			list = append(list, choice{label: r.String(), by: l.name, reads: reads, writes: writes, do: w.taking(w.answer, r)})
			if r.write && w.losses > 0 {
				list = append(list, choice{label: r.String() + ", and hear nothing", by: l.name, rare: true, writes: []string{answers}, do: w.taking(w.lose, r)})
			}
		}
		waits = true
	}
	if len(looks) > 0 {
		reads, writes := looks[0].touches()
		list = append(list, choice{label: l.name + ": have the agents look", by: l.name, reads: reads, writes: writes, do: w.taking(w.answer, looks...)})
	}
	if l.shown != shown {
		list = append(list, choice{label: l.name + "'s cache shows the pods", by: l.name, reads: everyPod, do: func() string {
			l.shown = shown
			l.seePods()
			l.learn("pods", shown)
			l.poke()
			return ""
		}})
	}
	if version(l.known()) < version(w.cluster()) {
		list = append(list, choice{label: l.name + "'s cache shows the DatabaseCluster", by: l.name, reads: []string{database}, do: func() string {
			l.cached, l.clusterShown = w.cluster(), w.versions[database]
			l.learn("cluster", w.versions[database])
			l.poke()
			return ""
		}})
	}
	if pause := time.Until(l.wake); !waits && l.shown == shown && !l.wake.IsZero() && pause <= retry {
		list = append(list, choice{label: l.name + "'s clock", by: l.name, writes: []string{all}, do: func() string {
			time.Sleep(pause)
			l.learn("clock")
			l.poke()
			return ""
		}})
	}
	return list
}

func (w *world) podsDigest() digest {
	var d digest
	for _, object := range everyPod {
		d = d.and(w.versions[object])
	}
	return d
}

// taking takes requests from the gate, and does something about each.
func (w *world) taking(do func(*request) string, requests ...*request) func() string {
	return func() (result string) {
		w.mu.Lock()
		w.pending = slices.DeleteFunc(w.pending, func(r *request) bool { return slices.Contains(requests, r) })
		w.mu.Unlock()
		for _, r := range requests {
			result = do(r)
		}
		return result
	}
}

// state returns a digest of all on which the future depends.
func (w *world) state() digest {
	d := digest{}.and(time.Since(w.began), w.losses, w.podsDigest(), w.versions[database])
	for _, name := range names {
		d = d.and(w.versions["the agent of "+name])
	}
	for _, l := range w.leaders {
		d = d.and(l.history)
	}
	late := make([]string, len(w.floats))
	for i, r := range w.floats {
		late[i] = fmt.Sprint(r, r.history)
	}
	slices.Sort(late)
	return d.and(late)
}
