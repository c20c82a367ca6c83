package people

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// 60 a second for a minute, while ada goes on.
func TestMadeUpTokensKeepNobodyWaiting(t *testing.T) {
	w := newWorld(t)
	w.api.may["ada get prod"] = true
	client := rollcallv1.NewCoordinatorServiceClient(w.dial())
	get := func(token string) error {
		_, err := client.GetCluster(as(t, token), &rollcallv1.GetClusterRequest{Namespace: "prod", Name: "db"})
		return err
	}
	require.NoError(t, get("ada"))
	refused := 0
	for second := range 60 {
		for i := range 60 {
			if err := get(fmt.Sprintf("made-up-%d-%d", second, i)); i == 59 {
				requireCode(t, codes.ResourceExhausted, err, "does not know yet")
				refused++
			}
		}
		require.NoError(t, get("ada"), "second %d: the answers about her are forgotten each 10 s", second)
		w.pass(time.Second)
	}
	require.Equal(t, 60, refused)
	counted := testutil.ToFloat64(w.gate.refused.WithLabelValues(reasonLimit))
	require.InDelta(t, 60*60-60*connectionPerSecond, counted, 60, "each is counted, also of those who come through the API server")
	require.Less(t, w.api.count("token"), 60*strangersPerSecond+strangersAtOnce+20)
}

// Who comes from another address gets in, and however many there are the table does not grow.
func TestAddressesAreToldApart(t *testing.T) {
	var s strangers
	now := time.Now()
	n := 0
	for range 100 {
		if s.admit(from(t, "10.0.0.1"), now) {
			n++
		}
	}
	require.Equal(t, addressAtOnce, n)
	require.True(t, s.admit(from(t, "10.0.0.2"), now))
	for i := range 3 * maxAddresses {
		s.admit(from(t, fmt.Sprintf("10.1.%d.%d", i/256, i%256)), now)
		require.LessOrEqual(t, len(s.addresses), maxAddresses)
	}
	require.False(t, s.admit(from(t, "10.9.0.1"), now))
	now = now.Add(time.Minute)
	require.True(t, s.admit(from(t, "10.9.0.1"), now))
	require.Less(t, len(s.addresses), 10, "who has not asked for a minute is forgotten")
	require.True(t, s.admit(t.Context(), now))
}

func from(t *testing.T, address string) context.Context {
	return peer.NewContext(t.Context(), &peer.Peer{Addr: &net.TCPAddr{IP: net.ParseIP(address), Port: int(time.Now().UnixNano() % 60000)}})
}
