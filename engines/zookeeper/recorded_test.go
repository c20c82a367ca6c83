package zookeeper

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/enginetest/authority"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// recorded answers as a real server did: testdata has what servers of these versions have said,
// without the lines of most metrics.
type recorded struct {
	*testing.T
	version, mode string
	// words are those that it allows besides srvr.
	words []string
	// admin means that its admin server answers.
	admin bool
	// readable means that clients may read the configuration.
	readable bool
	tls      *tls.Config
	// clients is the mode that the client port has; empty means that it is the same.
	clients string
	// client is the port that the admin server says clients use; 0 means the right one.
	client int

	mu       sync.Mutex
	sessions int
}

var clientPorts = regexp.MustCompile(`"client_port" : \d+,`)

func (r *recorded) file(name string) string {
	text, err := os.ReadFile(filepath.Join("testdata", r.version+"-"+r.mode+"-"+name))
	require.NoError(r, err)
	return string(text)
}

// options starts what answers, and returns how to reach it.
func (r *recorded) options() Options {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(r, err)
	if r.tls != nil {
		l = tls.NewListener(l, r.tls)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(10 * time.Second))
				r.serve(c)
			})
		}
	})
	r.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	o := Options{Access: web.Access{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, Timeout: 5 * time.Second}, AdminPort: 1}
	if r.admin {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			text := r.file(strings.TrimPrefix(q.URL.Path, "/commands/") + ".json")
			_, _ = io.WriteString(w, clientPorts.ReplaceAllString(text, fmt.Sprintf(`"client_port" : %d,`, cmp.Or(r.client, o.Port))))
		}))
		r.Cleanup(s.Close)
		at, err := url.Parse(s.URL)
		require.NoError(r, err)
		o.AdminPort, _ = strconv.Atoi(at.Port())
	}
	return o
}

func (r *recorded) serve(c net.Conn) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(c, head); err != nil {
		return
	}
	if word := string(head); head[0] != 0 {
		switch {
		case r.mode == "looking" && r.clients == "":
			_, _ = io.WriteString(c, r.file("mntr.txt"))
		case word == "srvr" && r.clients != "":
			_, _ = io.WriteString(c, (&recorded{T: r.T, version: r.version, mode: r.clients}).file("srvr.txt"))
		case word == "srvr" || strings.Contains(strings.Join(r.words, ","), word):
			_, _ = io.WriteString(c, r.file(word+".txt"))
		default:
			_, _ = io.WriteString(c, word+" is not executed because it is not in the whitelist.\n")
		}
		return
	}
	r.mu.Lock()
	r.sessions++
	r.mu.Unlock()
	begun := false
	for ; ; begun = true {
		if begun {
			if _, err := io.ReadFull(c, head); err != nil {
				return
			}
		}
		request := make([]byte, binary.BigEndian.Uint32(head))
		if _, err := io.ReadFull(c, request); err != nil {
			return
		}
		answer := make([]byte, 16)
		switch {
		case !begun: // a session of 4 s, with a password
			binary.BigEndian.PutUint32(answer[4:], 4000)
			answer[15] = 1
			answer = append(binary.BigEndian.AppendUint32(answer, 16), make([]byte, 17)...)
		case !r.readable:
			copy(answer, request[:4])
			binary.BigEndian.PutUint32(answer[12:], uint32(0xffffff9a)) // -102, no authentication
		default:
			copy(answer, request[:4])
			_, config, _ := strings.Cut(r.file("conf.txt"), "membership: \n")
			answer = append(binary.BigEndian.AppendUint32(answer, uint32(len(config))), config...)
			answer = append(answer, make([]byte, 68)...)
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(answer))), answer...)); err != nil {
			return
		}
	}
}

func (r *recorded) look(change func(o *Options)) State {
	r.Helper()
	o := r.options()
	if change != nil {
		change(&o)
	}
	s, err := connect(o.withDefaults())
	require.NoError(r, err)
	defer s.Close()
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	state, err := s.Look(ctx)
	require.NoError(r, err)
	return state
}

// TestRecorded reads what servers have said, over the client port and from the admin server.
func TestRecorded(t *testing.T) {
	for _, version := range []string{"3.6.2", "3.9.4"} {
		for name, r := range map[string]*recorded{
			"words": {words: []string{"mntr", "conf"}},
			"admin": {admin: true, readable: true},
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				at := func(mode string) *recorded {
					return &recorded{T: t, version: version, mode: mode, words: r.words, admin: r.admin, readable: r.readable}
				}
				s := at("leader").look(nil)
				require.True(t, s.Serving, s.Problem)
				require.Equal(t, version, s.Version)
				require.Equal(t, "server.3", s.Node)
				require.Equal(t, "server.3", s.Leader)
				require.Equal(t, Leading, s.Mode)
				require.Equal(t, []int{3, 1, 2}, []int{s.Learners, s.Observing, s.Synced})
				require.Equal(t, []string{"server.1", "server.2", "server.3"}, s.Config.voters())
				require.Len(t, s.Config.Servers, 4)
				require.Positive(t, s.Bytes)
				s = at("follower").look(nil)
				require.Equal(t, Following, s.Mode)
				require.Equal(t, []int{-1, -1, -1}, []int{s.Learners, s.Observing, s.Synced})
				if r.admin {
					require.Equal(t, "server.3", s.Leader)
				}
				s = at("looking").look(nil)
				require.True(t, s.Looking)
				require.False(t, s.Serving)
			})
		}
	}
}

// TestWhatMustBeAllowed: what a person has to allow is said.
func TestWhatMustBeAllowed(t *testing.T) {
	base := recorded{version: "3.9.4", mode: "follower"}
	with := func(t *testing.T, change func(r *recorded)) *recorded {
		r := &recorded{T: t, version: base.version, mode: base.mode}
		change(r)
		return r
	}
	t.Run("nothing", func(t *testing.T) {
		s := with(t, func(*recorded) {}).look(nil)
		require.Contains(t, s.Problem, "mntr is not in 4lw.commands.whitelist, and the admin server cannot be asked instead")
		require.Contains(t, s.Problem, "add mntr and conf to 4lw.commands.whitelist, or set admin.enableServer")
	})
	t.Run("mntr alone: its number follows from the name of its pod", func(t *testing.T) {
		mntr := func(r *recorded) { r.words, r.readable = []string{"mntr"}, true }
		s := with(t, mntr).look(nil)
		require.Contains(t, s.Problem, "it is not known which server of the configuration it is")
		s = with(t, mntr).look(func(o *Options) { o.Pod = "127" }) // the first label of the host
		require.Equal(t, "server.1", s.Node)
	})
	t.Run("the configuration", func(t *testing.T) {
		s := with(t, func(r *recorded) { r.admin = true }).look(nil)
		require.Contains(t, s.Problem, "read /zookeeper/config: the server answers with error -102: allow every client to read it")
	})
	t.Run("another port for clients", func(t *testing.T) {
		s := with(t, func(r *recorded) { r.admin, r.client = true, 1 }).look(func(o *Options) { o.Port = 1 })
		require.Contains(t, s.Problem, "its admin server says that it serves, and nobody listens on 127.0.0.1:1: is spec.connection.port another one?")
		require.False(t, s.Down, "it serves, whatever the port is")
		s = with(t, func(r *recorded) { r.admin, r.client = true, 2281 }).look(func(o *Options) { o.Port = 1 })
		require.Contains(t, s.Problem, "the admin server is that of another server: its client port is 2281, and not 1: is spec.connection.adminPort or spec.connection.port another one?")
		require.False(t, s.Down, "either port may be wrong")
	})
	t.Run("the admin server of another server", func(t *testing.T) {
		s := with(t, func(r *recorded) { r.admin, r.readable, r.client = true, true, 2281 }).look(nil)
		require.False(t, s.Serving)
		require.Contains(t, s.Problem, "the admin server is that of another server: its client port is 2281")
		s = with(t, func(r *recorded) { r.admin, r.client, r.words = true, 2281, []string{"mntr", "conf"} }).look(nil)
		require.True(t, s.Serving, s.Problem)
		require.Equal(t, "server.2", s.Node, "words are its own")
		s = with(t, func(r *recorded) { r.admin, r.mode, r.clients = true, "looking", "follower" }).look(nil)
		require.False(t, s.Looking)
		require.Contains(t, s.Problem, "the admin server is that of another server: it serves nobody, and the client port does")
	})
	t.Run("another port for the admin server", func(t *testing.T) {
		s := with(t, func(r *recorded) { r.words = []string{"mntr", "conf"} }).look(nil)
		require.True(t, s.Serving, "nobody answers at the port of the admin server, and words do")
	})
}

// TestOneSessionForManyLooks: a session is kept, and begun again when it has ended.
func TestOneSessionForManyLooks(t *testing.T) {
	r := &recorded{T: t, version: "3.9.4", mode: "follower", admin: true, readable: true}
	s, err := connect(r.options().withDefaults())
	require.NoError(t, err)
	defer s.Close()
	for i := range 4 {
		state, err := s.Look(t.Context())
		require.NoError(t, err)
		require.True(t, state.Serving, state.Problem)
		if i == 1 {
			_ = s.session.conn.Close()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Equal(t, 2, r.sessions)
}

// TestTLS speaks TLS to the client port, for words and as a client, and says what is wrong.
func TestTLS(t *testing.T) {
	signer := authority.New(t, "the ensemble's")
	cert, key := signer.Issue(authority.Leaf{Name: "server", Hosts: []string{"zk-0.zk.prod.svc"}})
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		tls  web.TLS
		says string // empty means that it serves
	}{
		"as it should be":   {web.TLS{Enabled: true, CA: signer.CA, ServerName: "zk-0.zk.prod.svc"}, ""},
		"not verified":      {web.TLS{Enabled: true, InsecureSkipVerify: true}, ""},
		"another name":      {web.TLS{Enabled: true, CA: signer.CA}, "127.0.0.1"},
		"another authority": {web.TLS{Enabled: true, CA: authority.New(t, "another").CA, ServerName: "zk-0.zk.prod.svc"}, "unknown authority"},
		"without TLS":       {web.TLS{}, "speak TLS (spec.connection.tls)?"},
	} {
		for _, r := range []*recorded{{words: []string{"mntr", "conf"}}, {admin: true, readable: true}} {
			r.T, r.version, r.mode, r.tls = t, "3.9.4", "follower", &tls.Config{Certificates: []tls.Certificate{pair}}
			o := r.options()
			o.TLS, o.Timeout = tt.tls, 500*time.Millisecond
			e, err := New(o)
			require.NoError(t, err)
			s := e.local(t.Context())
			if tt.says == "" { // the port in a configuration is the one without TLS
				require.Equal(t, Following, e.server.Ask(t.Context(), "127.0.0.1", 1).Mode)
			}
			require.NoError(t, e.Close())
			require.Equal(t, tt.says == "", s.Serving, "%s: %s", name, s.Problem)
			require.Contains(t, s.Problem, tt.says, name)
			require.False(t, s.Down)
		}
	}
}

// TestNonsenseIsNotHeard: what an agent could not have made of what its server said is not used.
func TestNonsenseIsNotHeard(t *testing.T) {
	for name, change := range map[string]func(s *State){
		"as it should be":        nil,
		"another kind of name":   func(s *State) { s.Node = "zk-1" },
		"no name":                func(s *State) { s.Node = "" },
		"no mode":                func(s *State) { s.Mode = ModeUnknown },
		"a mode that is none":    func(s *State) { s.Mode = Standalone + 1 },
		"a turn that is none":    func(s *State) { s.Turn = Granted + 1 },
		"too many servers":       func(s *State) { s.Config = lines(maxServers+1, 0) },
		"another kind of server": func(s *State) { s.Config.Servers[0].Node = "1" },
		"one twice":              func(s *State) { s.Config.Servers[1] = s.Config.Servers[0] },
		"a host without end":     func(s *State) { s.Config.Servers[0].Host = strings.Repeat("a", maxHost+1) },
	} {
		s := healthy(3, 0)[1]
		s.Config = lines(3, 0)
		if change != nil {
			change(&s)
		}
		e := newEngine(&fakeServer{cluster: &cluster{members: healthy(3, 0), faults: make([]enginetest.Fault, 3)}}, Options{Peers: saying{s}})
		m := e.ask(t.Context(), engines.Peer{Pod: "zk-1", Alive: true}, true)
		require.Equal(t, change == nil, m.Known, name)
		require.Equal(t, change == nil, m.Why == "", name)
	}
}

// saying are peers who all say the same.
type saying struct{ state State }

func (saying) List() []engines.Peer { return nil }

func (s saying) Look(context.Context, string, bool) ([]byte, error) { return json.Marshal(s.state) }

func (saying) Step(context.Context, string, engines.Step) ([]byte, error) {
	return nil, errors.New("nobody takes steps here")
}

// TestAdminRests: an admin server that is late is left alone for a while where words do instead. Otherwise
// it is asked again with the next look: a server that has just started is slow.
func TestAdminRests(t *testing.T) {
	for _, words := range [][]string{nil, {"mntr", "conf"}} {
		r := &recorded{T: t, version: "3.9.4", mode: "follower", words: words}
		o := r.options()
		l, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		o.AdminPort, o.Timeout = l.Addr().(*net.TCPAddr).Port, time.Second
		s, err := connect(o.withDefaults())
		require.NoError(t, err)
		defer s.Close()
		state, err := s.Look(t.Context())
		require.NoError(t, err)
		require.Equal(t, words != nil, state.Serving, state.Problem)
		require.Equal(t, words == nil, s.tries())
		require.Equal(t, words == nil, strings.Contains(state.Problem, "(it has not answered in time): add mntr"))
	}
}
