package network

import "google.golang.org/protobuf/proto"

// wire is a request as it is sent.
func wire(request proto.Message) string {
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		panic(err) // all of them can be sent
	}
	return string(bytes)
}
