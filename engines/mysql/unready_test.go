package mysql

import (
	"net"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/web"
	"github.com/stretchr/testify/require"
)

// TestServersThatCannotTellForAMoment checks that that nobody listens is the server's own word that
// it is no member, for as long as it lasts. All else is not known.
func TestServersThatCannotTellForAMoment(t *testing.T) {
	closed := func(t *testing.T) web.Access {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		return web.Access{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, Timeout: time.Minute}
	}
	serving := func(serve func(c net.Conn)) func(t *testing.T) web.Access {
		return func(t *testing.T) web.Access {
			return web.Access{Host: "127.0.0.1", Port: mysqltest.Listen(t, serve), Timeout: time.Minute}
		}
	}
	refusing := func(number uint16, words string) func(t *testing.T) web.Access {
		return serving(mysqltest.Refuse(number, words))
	}
	for name, c := range map[string]struct {
		server func(t *testing.T) web.Access
		want   engines.Membership
		reason string
	}{
		"nobody listens":       {closed, engines.MembershipNotLive, "no server listens"},
		"too many connections": {refusing(1040, "Too many connections"), engines.MembershipUnknown, "error 1040: Too many connections"},
		"it is shutting down":  {refusing(1053, "Server shutdown in progress"), engines.MembershipUnknown, "error 1053"},
		"this host is blocked": {refusing(1129, "Host is blocked because of many connection errors"), engines.MembershipUnknown, "error 1129"},
		"it does not answer": {func(t *testing.T) web.Access {
			o := serving(func(net.Conn) { <-t.Context().Done() })(t)
			o.Timeout = 300 * time.Millisecond
			return o
		}, engines.MembershipUnknown, "has not answered within"},
		"it hangs up":           {serving(func(net.Conn) {}), engines.MembershipUnknown, "the connection ended"},
		"its name is not known": {func(*testing.T) web.Access { return web.Access{Host: "nowhere.invalid", Port: 3306} }, engines.MembershipUnknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := New(Options{Access: c.server(t)})
			require.NoError(t, err)
			defer e.Close()
			seen, err := e.Observe(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.want, seen.Member, seen.Health.Reason)
			require.Contains(t, seen.Health.Reason, c.reason)
			require.Equal(t, engines.VerdictUnknown, seen.Health.Verdict)
			require.Empty(t, seen.Groups)
			require.Empty(t, seen.Nodes)
			require.False(t, seen.Settled)
		})
	}
}
