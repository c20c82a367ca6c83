package network

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
)

// stream is both ends of one server stream. What is sent arrives in order; where
// there is no way it is lost without a word, and so is the end.
type stream[T any] struct {
	grpc.ClientStream
	ctx     context.Context
	c       *client
	name    string
	asked   string        // the request, as it is sent
	key     string        // the name and a number
	newest  *T            // of this instant
	last    time.Duration // when the last message on its way arrives
	onWay   func(*Agent, *T) []*T
	arrived func(*Agent, *T)

	mu      sync.Mutex
	inbox   []*T
	failed  error
	arrival chan struct{}
}

func newStream[T any](ctx context.Context, c *client, what string, request proto.Message) *stream[T] {
	return &stream[T]{
		ctx: ctx, c: c, name: c.process + " " + c.pod + " " + what, asked: wire(request), arrival: make(chan struct{}, 1),
		onWay: func(_ *Agent, m *T) []*T { return []*T{m} }, arrived: func(*Agent, *T) {},
	}
}

// open has the agent serve the stream. Which of two that begin at one instant is the
// first is nobody's choice, so they are numbered in the order of what they ask for, and
// one that has ended by then was never there. Nor is it anybody's choice whether one that
// follows another has its connection or a new one: both are counted alike.
func (s *stream[T]) open(serve func(*Agent, grpc.ServerStreamingServer[T]) error) {
	h := s.c.hub
	h.loop.Ask(s.name+clock.Apart+s.c.ip+s.asked, func() {
		if s.ctx.Err() != nil {
			return
		}
		kind := s.name + " " + s.c.ip
		h.streams[kind]++
		s.key = fmt.Sprintf("%s %d", s.name, h.streams[kind])
		h.loop.Ask(s.key, func() { s.begin(serve) })
	})
}

func (s *stream[T]) begin(serve func(*Agent, grpc.ServerStreamingServer[T]) error) {
	h := s.c.hub
	h.Carry(s.c.process, s.c.pod, func() {
		a := h.agents[s.c.ip]
		switch {
		case a == nil || a.service == nil:
			s.arrive(func() { s.failed = errRefused })
			return
		case a.Stuck:
			return
		}
		ctx, cancel := context.WithCancel(a.ctx)
		stop := context.AfterFunc(s.ctx, func() {
			h.loop.Ask(s.key+" cancelled", func() { h.Carry(s.c.process, s.c.pod, cancel) })
		})
		go func() {
			err := serve(a, &server[T]{stream: s, ctx: ctx, agent: a})
			stop()
			cancel()
			h.loop.Ask(s.key+" ended", func() { s.later(func() { s.arrive(func() { s.failed = err }) }) })
		}()
	})
}

// later carries something back after all that was sent before. Only the loop calls it.
func (s *stream[T]) later(deliver func()) {
	h := s.c.hub
	if h.Blocked(s.c.pod, s.c.process) {
		return
	}
	at := h.loop.Now() + h.loop.Between(200*time.Microsecond, 3*time.Millisecond) + h.Slow(s.c.pod, s.c.process)
	s.last = max(s.last+1, at)
	h.loop.In(s.last-h.loop.Now(), deliver)
}

func (s *stream[T]) arrive(change func()) {
	s.mu.Lock()
	change()
	s.mu.Unlock()
	select {
	case s.arrival <- struct{}{}:
	default:
	}
}

// Recv returns the next message; like what is decoded from a wire it is the receiver's own.
func (s *stream[T]) Recv() (*T, error) {
	for {
		s.mu.Lock()
		if len(s.inbox) > 0 {
			m := s.inbox[0]
			s.inbox = s.inbox[1:]
			s.mu.Unlock()
			return own(m), nil
		}
		failed := s.failed
		s.mu.Unlock()
		if failed != nil {
			return nil, failed
		}
		select {
		case <-s.arrival:
		case <-s.ctx.Done():
			return nil, s.ctx.Err()
		}
	}
}

// own is a copy of a message. Both ends may keep theirs, and change it.
func own[T any](m T) T {
	if message, ok := any(m).(proto.Message); ok {
		return any(proto.Clone(message)).(T)
	}
	return m
}

// server is the agent's end.
type server[T any] struct {
	grpc.ServerStream
	stream *stream[T]
	ctx    context.Context
	agent  *Agent
}

func (v *server[T]) Context() context.Context { return v.ctx }

func (v *server[T]) Send(m *T) error {
	if err := v.ctx.Err(); err != nil {
		return err
	}
	s := v.stream
	loop := s.c.hub.loop
	loop.Ask(s.key+" sent", func() {
		// How many messages an agent makes of what happens at one instant is up to
		// its goroutines; the last one holds it all.
		first := s.newest == nil
		s.newest = m
		if !first {
			return
		}
		loop.In(0, func() {
			m := s.newest
			s.newest = nil
			for _, m := range s.onWay(v.agent, m) {
				s.later(func() {
					s.arrived(v.agent, m)
					s.arrive(func() { s.inbox = append(s.inbox, m) })
				})
			}
		})
	})
	return nil
}
