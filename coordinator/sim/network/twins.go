package network

import "google.golang.org/protobuf/proto"

// served is what an agent is asked for once, for all that asked the same at one instant.
type served[Response any] struct {
	response Response
	err      error
	done     []func()
}

// answer tells all of them.
func (s *served[Response]) answer(response Response, err error) {
	s.response, s.err = response, err
	for _, done := range s.done {
		done()
	}
}

// twin is what a request shares with those that asked the same at this instant, and
// whether it is the first of them. The loop calls it.
func twin[Response any](h *Hub, request string) (*served[Response], bool) {
	if now := h.loop.Now(); h.twinsAt != now {
		clear(h.twins)
		h.twinsAt = now
	}
	if earlier, ok := h.twins[request].(*served[Response]); ok {
		return earlier, false
	}
	first := &served[Response]{}
	h.twins[request] = first
	return first, true
}

// wire is a request as it is sent.
func wire(request proto.Message) string {
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		panic(err) // all of them can be sent
	}
	return string(bytes)
}
