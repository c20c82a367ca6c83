package probe

import (
	"errors"
	"sync"

	"github.com/rollcall-dev/rollcall/engines"
)

var (
	ErrNoEngine  = errors.New("the agent is not configured yet")
	ErrNotPeered = errors.New("the members of this database do nothing together")
)

// Slot holds the adapter of the current configuration. Callers get it again each time; a call that
// runs while the adapter is replaced fails and is repeated with the new one.
type Slot struct {
	mu     sync.Mutex
	engine engines.Engine
}

func (s *Slot) Get() (engines.Engine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.engine == nil {
		return nil, ErrNoEngine
	}
	return s.engine, nil
}

// Set replaces the adapter and closes the former one.
func (s *Slot) Set(e engines.Engine) error {
	s.mu.Lock()
	old := s.engine
	s.engine = e
	s.mu.Unlock()
	if old == nil {
		return nil
	}
	return old.Close()
}

// Peered returns the adapter if its members act together.
func (s *Slot) Peered() (engines.Peered, error) {
	engine, err := s.Get()
	if err != nil {
		return nil, err
	}
	peered, ok := engine.(engines.Peered)
	if !ok {
		return nil, ErrNotPeered
	}
	return peered, nil
}
