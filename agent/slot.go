package agent

import (
	"errors"
	"sync"

	"github.com/rollcall-dev/rollcall/engines"
)

var errNoEngine = errors.New("the agent is not configured yet")

// slot holds the engine adapter of the present configuration. Whoever needs one
// asks for it again each time; a call that runs while the adapter is replaced
// ends with an error and is repeated with the new one.
type slot struct {
	mu     sync.Mutex
	engine engines.Engine
}

func (s *slot) get() (engines.Engine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.engine == nil {
		return nil, errNoEngine
	}
	return s.engine, nil
}

// set replaces the engine and closes the former one.
func (s *slot) set(e engines.Engine) error {
	s.mu.Lock()
	old := s.engine
	s.engine = e
	s.mu.Unlock()
	if old == nil {
		return nil
	}
	return old.Close()
}
