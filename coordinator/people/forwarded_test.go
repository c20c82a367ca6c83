package people

import (
	"context"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func onPort(t *testing.T, address string, port int) context.Context {
	return peer.NewContext(t.Context(), &peer.Peer{Addr: &net.TCPAddr{IP: net.ParseIP(address), Port: port}})
}

// Somebody makes up requests on a forwarded port; whoever else comes by one gets in. With many
// connections they leave those alone who have shown who they are on theirs.
func TestOneAskerKeepsNobodyOut(t *testing.T) {
	w := newWorld(t)
	w.api.may["ada get prod"] = true
	n := uint32(0)
	madeUp := func() (p proof) {
		n++
		binary.BigEndian.PutUint32(p[:], n)
		return p
	}
	before := w.api.count("request")
	for range 30 {
		var err error
		for range 60 {
			_, _, err = madeUp().identify(onPort(t, "127.0.0.1", 1), w.gate)
		}
		requireCode(t, codes.ResourceExhausted, err, "on this connection", "try again")
		require.NoError(t, w.get(w.asks("ada"), "prod"))
		w.pass(time.Second)
	}
	require.LessOrEqual(t, w.api.count("request")-before, 30+30*connectionPerSecond+connectionAtOnce)

	client := rollcallv1.NewCoordinatorServiceClient(w.dial())
	ask := func() error {
		_, err := client.GetCluster(t.Context(), &rollcallv1.GetClusterRequest{Namespace: "prod", Name: "db"}, grpc.PerRPCCredentials(w.asks("ada")))
		return err
	}
	require.NoError(t, ask())
	for i := range 3 * maxAddresses {
		_, _, _ = madeUp().identify(onPort(t, "127.0.0.1", 2+i), w.gate)
		require.LessOrEqual(t, len(w.gate.forwarded.each), maxAddresses)
	}
	require.NoError(t, ask(), "a watch that shows another one")
	w.pass(time.Minute)
	_, _, _ = madeUp().identify(onPort(t, "127.0.0.1", 1), w.gate)
	w.gate.forwarded.admit(onPort(t, "127.0.0.1", 60000), w.gate.now())
	require.Less(t, len(w.gate.forwarded.each), 100, "who has not asked for a minute is forgotten")

	// What a sidecar lets in is no forwarded port.
	for range 10 * connectionAtOnce {
		require.True(t, w.gate.forwarded.admit(onPort(t, "127.0.0.6", 1), w.gate.now()))
	}
	admitted := 0
	for range 3 * strangersAtOnce {
		if w.gate.strangers.admit(onPort(t, "127.0.0.6", 1), w.gate.now()) {
			admitted++
		}
	}
	require.Equal(t, addressAtOnce, admitted, "of one address")
}
