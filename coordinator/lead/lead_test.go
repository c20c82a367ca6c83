package lead

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
)

// candidate is one coordinator in the tests: it notes when it leads.
type candidate struct {
	t       *testing.T
	elector *Elector
	stop    context.CancelFunc
	done    chan struct{}

	mu      sync.Mutex
	term    *Term
	leading bool
	since   time.Time
	until   time.Time
}

// api is a fake API server with a switch per client.
type api struct {
	clients map[string]*fake.Clientset
	cut     map[string]*atomic.Bool
}

func newAPI(identities ...string) *api {
	a := &api{clients: map[string]*fake.Clientset{}, cut: map[string]*atomic.Bool{}}
	shared := fake.NewClientset()
	for _, identity := range identities {
		cut := &atomic.Bool{}
		client := &fake.Clientset{}
		client.AddReactor("*", "*", func(action k8stesting.Action) (bool, runtime.Object, error) {
			if cut.Load() {
				return true, nil, errors.New("connection refused")
			}
			object, err := shared.Invokes(action, nil)
			return true, object, err
		})
		a.clients[identity], a.cut[identity] = client, cut
	}
	return a
}

func compete(t *testing.T, a *api, identity string) *candidate {
	elector, err := New(Options{Client: a.clients[identity], Namespace: "rollcall-system", Identity: identity})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	c := &candidate{t: t, elector: elector, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		err := elector.Run(ctx, func(ctx context.Context, term *Term) error {
			c.mu.Lock()
			c.term, c.leading, c.since = term, true, time.Now()
			c.mu.Unlock()
			<-ctx.Done()
			c.mu.Lock()
			c.leading, c.until = false, time.Now()
			c.mu.Unlock()
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}()
	return c
}

func (c *candidate) leads() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leading
}

func TestGracefulStopHandsOverWithinSixSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI("a", "b")
		first := compete(t, a, "a")
		time.Sleep(5 * time.Second)
		require.True(t, first.leads())
		second := compete(t, a, "b")
		time.Sleep(30 * time.Second)
		require.False(t, second.leads(), "two leaders")

		stopped := time.Now()
		first.stop()
		<-first.done
		require.False(t, first.leads())
		time.Sleep(6 * time.Second)
		require.True(t, second.leads())
		require.LessOrEqual(t, second.since.Sub(stopped), 6*time.Second)
		require.False(t, second.since.Before(first.until), "the follower began before the work had ended")
		second.stop()
		<-second.done
	})
}

func TestLeaderThatLosesTheAPIServerIsSilentBeforeTheNextBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI("a", "b")
		first := compete(t, a, "a")
		time.Sleep(5 * time.Second)
		require.True(t, first.leads())
		second := compete(t, a, "b")
		time.Sleep(5 * time.Second)

		crashed := time.Now()
		a.cut["a"].Store(true)
		time.Sleep(26 * time.Second)
		require.True(t, second.leads())
		require.LessOrEqual(t, second.since.Sub(crashed), 26*time.Second)
		require.False(t, first.leads())
		require.True(t, first.until.Before(second.since))
		require.True(t, first.term.End().Before(second.since), "a bounded request could outlive the term")
		first.stop()
		second.stop()
		<-first.done
		<-second.done
	})
}

func TestTermBoundsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI("a")
		c := compete(t, a, "a")
		time.Sleep(5 * time.Second)
		require.True(t, c.leads())
		ctx, cancel := c.term.Bound(t.Context())
		defer cancel()
		deadline, ok := ctx.Deadline()
		require.True(t, ok)
		require.LessOrEqual(t, time.Until(deadline), 10*time.Second)

		a.cut["a"].Store(true)
		time.Sleep(11 * time.Second)
		late, cancelLate := c.term.Bound(t.Context())
		defer cancelLate()
		require.ErrorIs(t, late.Err(), context.DeadlineExceeded)

		// It comes back when the API server does.
		a.cut["a"].Store(false)
		time.Sleep(30 * time.Second)
		require.True(t, c.leads())
		c.stop()
		<-c.done
	})
}

func TestOptionsAreChecked(t *testing.T) {
	a := newAPI("a")
	for want, options := range map[string]Options{
		"a client is required":                   {},
		"the namespace of the lease is required": {Client: a.clients["a"]},
		"an identity is required":                {Client: a.clients["a"], Namespace: "x"},
	} {
		_, err := New(options)
		require.ErrorContains(t, err, want)
	}
}
