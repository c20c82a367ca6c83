package enginetest

import (
	"context"
	"errors"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// Wired are members on a wire, each with an agent; a new one takes the place of that which was there.
type Wired[E engines.Peered] struct {
	Wire *Wire
	// Names are the members' nodes, and First the adapters that they had first.
	Names []string
	First []E

	make func(i int, peers engines.Peers) E
}

// NewWired puts members with these nodes on a wire of their own.
func NewWired[E engines.Peered](names []string, make func(i int, peers engines.Peers) E) *Wired[E] {
	w := &Wired[E]{Wire: NewWire(), Names: names, make: make}
	for i := range names {
		w.First = append(w.First, w.Engine(i))
	}
	return w
}

// Engine returns a new agent's adapter of a member.
func (w *Wired[E]) Engine(i int) E {
	e := w.make(i, w.Wire.From(w.Names[i]))
	w.Wire.Connect(map[string]engines.Peered{w.Names[i]: reached{e}})
	return e
}

// Leaves says that a member is being stopped.
func (w *Wired[E]) Leaves(i int) { w.Wire.Leaving(w.Names[i], true) }

// Close ends the adapters in First.
func (w *Wired[E]) Close() {
	w.Wire.Wait()
	for _, e := range w.First {
		_ = e.Close()
	}
}

// reached is what other agents reach: agents look all the time.
type reached struct{ engines.Peered }

func (r reached) Look(ctx context.Context, _ bool) ([]byte, error) { return r.Peered.Look(ctx, true) }

// Answer returns why a server with the fault does not answer, at once or when it has hung for a second.
// A healthy one does, unless the context has ended.
func (f Fault) Answer(ctx context.Context) error {
	switch f {
	case Healthy:
		return ctx.Err()
	case Hung:
		bounded, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		<-bounded.Done()
		return bounded.Err()
	}
	return errors.New("the server does not work")
}
