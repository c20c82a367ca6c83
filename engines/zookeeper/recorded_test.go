package zookeeper

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

	mu       sync.Mutex
	sessions int
}

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
			_, _ = io.WriteString(w, r.file(strings.TrimPrefix(q.URL.Path, "/commands/")+".json"))
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
