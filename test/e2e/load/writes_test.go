package load

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWritesAreFollowed(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	docs := []Doc{{Acked: at(0), Through: "a"}, {Acked: at(10), Through: "a"}, {Acked: at(910), Through: "b"}, {Acked: at(920), Through: "b"}, {Acked: at(1520), Through: "b"}}

	w := follow(docs, at(1530), 500*time.Millisecond)
	require.Equal(t, 900*time.Millisecond, w.Longest)
	require.Equal(t, at(10), w.Since)
	require.Equal(t, 1500*time.Millisecond, w.Sum)
	require.Equal(t, 2, w.Interruptions)
	require.Equal(t, 1, w.Changes())
	require.Equal(t, "writes were interrupted for 900 ms at most, 1500 ms in all (2 times), acknowledged by a, then b", w.String())

	require.Equal(t, 3480*time.Millisecond, follow(docs, at(5000), time.Second).Longest, "nobody could write until the end")
	require.Zero(t, follow(nil, at(5000), time.Second).Changes())
}
