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

// wire is a request as it is sent.
func wire(request proto.Message) string {
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		panic(err) // all of them can be sent
	}
	return string(bytes)
}
