package unread

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/protobuf/proto"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func TestMessagesTakeWhatTheyNeed(t *testing.T) {
	codec := New(Limits{}).Codec()
	require.Equal(t, encodingproto.Name, codec.Name())
	report := &rollcallv1.Report{Veto: strings.Repeat("x", 40<<10)}
	want, err := proto.Marshal(report)
	require.NoError(t, err)
	got, err := codec.Marshal(report)
	require.NoError(t, err)
	require.Equal(t, want, got.Materialize())

	var back rollcallv1.Report
	require.NoError(t, codec.Unmarshal(got, &back))
	require.True(t, proto.Equal(report, &back))
	_, err = codec.Marshal("no message")
	require.Error(t, err)

	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := codec.Marshal(report); err != nil {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	require.Less(t, allocated, int64(64<<10))
}
