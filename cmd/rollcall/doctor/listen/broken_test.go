package listen

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// deaf is a connection on which everything can be said, and every answer is an error.
type deaf struct{ net.Conn }

func (deaf) Write(p []byte) (int, error) { return len(p), nil }
func (deaf) Read([]byte) (int, error)    { return 0, errors.New("nobody listens") }

// TestBrokenConnectionsSayWhy checks that the error is the connection's own, whatever net/http makes
// of it. What that is depends on who sees it first.
func TestBrokenConnectionsSayWhy(t *testing.T) {
	for range 200 {
		_, err := Ask(t.Context(), Question{Path: "/", Dial: func(context.Context) (net.Conn, error) {
			one, other := net.Pipe()
			t.Cleanup(func() { _, _ = one.Close(), other.Close() })
			return deaf{one}, nil
		}})
		require.EqualError(t, err, "nobody listens")
	}
}
