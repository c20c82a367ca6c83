package people

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Bob, whom the API server knows and who may see nothing, asks about namespaces that he makes up;
// ada goes on.
func TestWhoMayNothingKeepsNobodyWaiting(t *testing.T) {
	w := newWorld(t)
	w.api.may["ada get prod"] = true
	client := rollcallv1.NewCoordinatorServiceClient(w.dial())
	get := func(token, namespace string) error {
		_, err := client.GetCluster(as(t, token), &rollcallv1.GetClusterRequest{Namespace: namespace, Name: "db"})
		return err
	}
	limit := rate.NewLimiter(perSecond, atOnce) // by the clock of this test
	w.gate.limit = byClock{limit, w.gate.now}
	require.NoError(t, get("ada", "prod"))
	for second := range 30 {
		for i := range 2 * atOnce {
			if err := get("bob", fmt.Sprintf("made-up-%d-%d", second, i)); second == 0 && i == 0 {
				requireCode(t, codes.PermissionDenied, err, "bob may not")
			}
		}
		require.NoError(t, get("ada", "prod"), "second %d: the answers about her are forgotten each 10 s", second)
		w.pass(time.Second)
	}
}

type byClock struct {
	*rate.Limiter
	now func() time.Time
}

func (b byClock) TryAccept() bool { return b.AllowN(b.now(), 1) }
func (byClock) Stop()             {}
func (byClock) QPS() float32      { return perSecond }

// Of IPv6 one machine mostly has 2^64 addresses.
func TestOneNetworkIsOneAddress(t *testing.T) {
	var s strangers
	now := time.Now()
	n := 0
	for i := range 1000 {
		if s.admit(from(t, fmt.Sprintf("2001:db8::%x", i+1)), now) {
			n++
		}
	}
	require.Equal(t, addressAtOnce, n)
	require.True(t, s.admit(from(t, "10.0.0.2"), now), "somebody else gets in")
}
