package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// ensemble is the local server, and the client ports of the others.
type ensemble interface {
	// Look returns the State of the local server. One that does not answer is no error.
	Look(ctx context.Context) (State, error)
	// Ask returns what another server says of itself.
	Ask(ctx context.Context, host string, port int) Answer
	Close() error
}

// server asks the local server: the admin server where there is one, otherwise by words; and reads
// the configuration as a client.
type server struct {
	port    clientPort
	admin   *admin
	session session
	pod     string
	timeout time.Duration

	mu sync.Mutex
	// adminAfter is when the admin server is tried again after it has not answered in time.
	adminAfter time.Time
	closed     bool
}

var (
	errLate    = errors.New("it has not answered in time")
	errAnother = errors.New("the admin server is that of another server")
)

// adminRests is for how long an admin server that does not answer is left alone.
const adminRests = 30 * time.Second

func connect(o Options) (*server, error) {
	secure, err := o.TLS.Config()
	if err != nil {
		return nil, err
	}
	s := &server{port: clientPort{access: o.Access, tls: secure}, pod: o.Pod, timeout: o.Timeout}
	s.session.port = s.port
	at := web.Access{Host: o.Host, Port: o.AdminPort, Timeout: o.Timeout, Dial: o.Dial}.WithDefaults(usualAdminPort, o.MaxBytes)
	s.admin, err = newAdmin(at)
	return s, err
}

// Close ends the session.
func (s *server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.session.close()
	s.admin.close()
	return nil
}

// Ask asks another server.
func (s *server) Ask(ctx context.Context, host string, port int) Answer {
	return s.port.ask(ctx, host, port)
}

// Look asks for everything.
func (s *server) Look(ctx context.Context) (State, error) {
	bounded, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	out := State{Looked: time.Now(), Learners: -1, Observing: -1, Synced: -1}
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return out, web.ErrClosed
	}
	now, err := s.status(bounded)
	if err == nil {
		err = s.complete(bounded, &now)
	}
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || bounded.Err() != nil {
		return out, context.DeadlineExceeded
	}
	out.Version = now.version
	if err != nil {
		out.Down, out.Looking = errors.Is(err, errDown), errors.Is(err, errLooking) || errors.Is(err, errReadOnly)
		out.Problem = engines.OneLine(err.Error())
		if why := s.port.access.Unverified(err); why != "" {
			out.Problem = engines.OneLine(why + ": " + err.Error())
		}
		return out, nil
	}
	return now.state(out), nil
}

// status asks the admin server, and by words if that does not answer.
func (s *server) status(ctx context.Context) (status, error) {
	var silent error
	late := false
	if s.tries() {
		bounded, cancel := context.WithTimeout(ctx, s.timeout/2)
		now, err := s.admin.status(bounded)
		late = bounded.Err() != nil && ctx.Err() == nil
		cancel()
		if err == nil || errors.Is(err, errLooking) {
			err = cmp.Or(s.another(ctx, now, err), err)
		}
		if err == nil || errors.Is(err, errLooking) || errors.Is(err, errReadOnly) {
			return now, err
		}
		if silent = err; late {
			silent = errLate // it is not the whole look that is late
		}
	}
	now, err := s.port.status(ctx)
	if errors.Is(silent, errAnother) && errors.Is(err, errDown) {
		return now, silent // one of the ports is wrong, and either may be
	}
	if late && err == nil {
		s.rest() // words do
	}
	if refused, is := errors.AsType[*notAllowedError](err); is {
		if silent == nil {
			silent = errLate
		}
		return now, fmt.Errorf("%w, and the admin server cannot be asked instead (%w): add mntr and conf to 4lw.commands.whitelist, or set admin.enableServer", refused, silent)
	}
	return now, err
}

// another returns an error if the admin server is that of another server, such as one of another ensemble
// on the host's network, which had the port first. Of one that serves nobody only the client port tells:
// srvr is allowed by default.
func (s *server) another(ctx context.Context, now status, said error) error {
	if said != nil {
		if _, err := s.port.say(ctx, s.port.local(), "srvr"); err == nil {
			return fmt.Errorf("%w: it serves nobody, and the client port does", errAnother)
		}
		return nil
	}
	if s.port.tls == nil && now.client > 0 && now.client != int64(s.port.access.Port) {
		return fmt.Errorf("%w: its client port is %d, and not %d: is spec.connection.adminPort or spec.connection.port another one?", errAnother, now.client, s.port.access.Port)
	}
	return nil
}

func (s *server) tries() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().After(s.adminAfter)
}

func (s *server) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.adminAfter = time.Now().Add(adminRests)
}

// complete reads the configuration where conf was not asked for it. Who does not know its own number
// finds it by the name of its pod.
func (s *server) complete(ctx context.Context, now *status) error {
	if now.mode == Standalone {
		return nil
	}
	if now.config == "" {
		text, err := s.session.config(ctx)
		if errors.Is(err, errDown) { // it has just said that it serves
			return fmt.Errorf("its admin server says that it serves, and nobody listens on %s: is spec.connection.port another one?", s.port.local())
		}
		if err != nil {
			return fmt.Errorf("%w: allow every client to read it, or turn off the admin server and add mntr and conf to 4lw.commands.whitelist", err)
		}
		now.config = text
	}
	c, err := decodeConfig(now.config)
	if err != nil || now.id >= 0 {
		return err
	}
	for _, line := range c.Servers {
		if label, _, _ := strings.Cut(line.Host, "."); label != "" && label == s.pod {
			now.id = idOf(line.Node)
			return nil
		}
	}
	return errors.New("it is not known which server of the configuration it is: add conf to 4lw.commands.whitelist, or set admin.enableServer")
}

// state adds to what is known of the look itself.
func (s status) state(out State) State {
	out.Serving, out.Mode, out.Bytes = true, s.mode, s.bytes
	if s.mode == Standalone {
		out.Node = standaloneNode
		return out
	}
	const many = 1 << 20
	out.Config, _ = decodeConfig(s.config)
	out.Node = nodeOf(s.id)
	if s.leader >= 0 {
		out.Leader = nodeOf(s.leader)
	}
	if s.mode == Leading {
		out.Leader = out.Node
		out.Learners, out.Observing, out.Synced = int(min(s.learners, many)), int(min(s.observing, many)), int(min(s.synced, many))
	}
	return out
}
