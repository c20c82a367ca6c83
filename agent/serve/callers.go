package serve

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/credentials"

	"github.com/rollcall-dev/rollcall/agent/door"
	"github.com/rollcall-dev/rollcall/proto/unread"
)

// Why a caller was not served, in rollcall_agent_callers_refused_total.
const (
	callerCertificate = "certificate" // none, another authority's, or an older TLS
	callerRole        = "role"        // its certificate does not permit the call
)

// callerLogEvery limits the log: whoever is refused may try again at once.
const callerLogEvery = time.Minute

// callers counts refused callers, and logs at most one of each kind per minute.
type callers struct {
	refused  *prometheus.CounterVec
	logger   *slog.Logger
	refusals *door.Refusals

	mu   sync.Mutex
	told map[string]time.Time // by reason
}

func newCallers(refused *prometheus.CounterVec, refusals *door.Refusals, logger *slog.Logger) *callers {
	return &callers{refused: refused, refusals: refusals, logger: logger, told: map[string]time.Time{}}
}

// refuse counts and logs a caller; from may be nil.
func (c *callers) refuse(reason string, from net.Addr, err error) {
	c.refused.WithLabelValues(reason).Inc()
	address := ""
	if from != nil {
		address = from.String()
	}
	c.refusals.Note("caller: "+reason, address)
	now := time.Now()
	c.mu.Lock()
	quiet := !c.told[reason].IsZero() && now.Sub(c.told[reason]) < callerLogEvery
	if !quiet {
		c.told[reason] = now
	}
	c.mu.Unlock()
	if quiet {
		return
	}
	c.logger.Warn("caller refused; further ones of the next minute are only counted", "reason", reason, "from", address, "error", err)
}

// guarded are the server's credentials. They note failed handshakes and tell the
// connections of readers, coordinators and strangers apart.
type guarded struct {
	credentials.TransportCredentials
	callers *callers
	access  access
	readers *unread.Tracker // the connections of those who only read
}

// ServerHandshake is the library's, plus that.
func (g guarded) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secure, info, err := g.TransportCredentials.ServerHandshake(conn)
	if err != nil && !hungUp(err) {
		g.callers.refuse(callerCertificate, conn.RemoteAddr(), err)
	}
	if err != nil {
		return secure, info, err
	}
	// Whoever may call nothing here stays a stranger: one authority signs the
	// certificates for all databases.
	switch roles := g.access.rolesShown(info); {
	case len(roles) == 0:
		return secure, info, nil
	case !onlyReads(roles):
		door.ServedConn(conn) // readers do not get these ended
	default:
		secure = g.readers.Track(secure, conn)
	}
	door.KeepConn(conn)
	return secure, info, nil
}

func (g guarded) Clone() credentials.TransportCredentials {
	return guarded{g.TransportCredentials.Clone(), g.callers, g.access, g.readers}
}

// hungUp reports whether the caller went away before the handshake was over, as port
// scans, probes and coordinators that end do, or refused the server itself.
func hungUp(err error) bool {
	var network *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &network)
}
