package main

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
	"github.com/rollcall-dev/rollcall/test/canary"
	"github.com/rollcall-dev/rollcall/test/locked"
)

// Every character in it is special in a DSN, a URL, JSON, HTML or a format.
const canaryPassword = "c4n/%s:@tcp(w)?x=1&<\"é-7f3a9c51"

// databases refuse logins in the ways that have put passwords into errors.
var databases = map[string]func(t *testing.T) net.Listener{
	"refuses": func(t *testing.T) net.Listener {
		return served(t, func(rw http.ResponseWriter, r *http.Request) {
			user, _, _ := r.BasicAuth()
			rw.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(rw, `{"error":{"msg":"who are you, %s?","reason":"no","type":"security_exception"},"status":401}`, user)
		})
	},
	"sends elsewhere": func(t *testing.T) net.Listener {
		return served(t, func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "http://127.0.0.1:1/elsewhere", http.StatusTemporaryRedirect)
		})
	},
	"hangs up": func(t *testing.T) net.Listener {
		return served(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	},
	"asks MySQL clients for the password in clear": mysqlThat(askClear),
	"denies MySQL clients":                         mysqlThat(deny),
}

func served(t *testing.T, handler http.HandlerFunc) net.Listener {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.Listener
}

var (
	askClear = append([]byte{0xfe}, "mysql_clear_password\x00"...)
	deny     = append([]byte{0xff, 0x15, 0x04}, "#28000Access denied for user 'rollcall'@'10.0.0.7' (using password: YES)"...)
)

// mysqlThat greets as MySQL does and answers the login with one packet.
func mysqlThat(answer []byte) func(*testing.T) net.Listener {
	return func(t *testing.T) net.Listener {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { listener.Close() })
		hello := "\x0a8.4.6\x00\x01\x00\x00\x00abcdefgh\x00\xff\xf7\xff\x02\x00\xff\xdf\x15" + strings.Repeat("\x00", 10) + "ijklmnopqrst\x00mysql_native_password\x00"
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					in := bufio.NewReader(c)
					packet(c, 0, []byte(hello))
					told, err := receive(in)
					if err != nil {
						return
					}
					packet(c, 2, answer)
					more, _ := receive(in)
					// A last word with all that it was told.
					packet(c, 4, append([]byte{0xff, 0x15, 0x04}, fmt.Sprintf("#28000told %s %s", told, more)...))
				}()
			}
		}()
		return listener
	}
}

func packet(w io.Writer, sequence byte, body []byte) {
	_, _ = w.Write(append([]byte{byte(len(body)), byte(len(body) >> 8), 0, sequence}, body...))
}

func receive(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	body := make([]byte, int(head[0])|int(head[1])<<8)
	_, err := io.ReadFull(r, body)
	return body, err
}

// TestNoOutputHasASecret runs the program against databases that refuse it, and looks for
// every secret that it was given in everything that comes out of it.
func TestNoOutputHasASecret(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the program")
	}
	binary := filepath.Join(t.TempDir(), "rollcall-agent")
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", tags, "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	for name, database := range databases {
		sql := strings.Contains(name, "MySQL")
		for _, engine := range []string{"Solr", "OpenSearch", "MySQL", "MariaDB", "Galera"} {
			if sql != (engine == "MySQL" || engine == "MariaDB" || engine == "Galera") {
				continue
			}
			t.Run(engine+" "+name, func(t *testing.T) {
				t.Parallel()
				look(t, binary, engine, database(t).Addr().(*net.TCPAddr).Port)
			})
		}
	}
}

// look collects the outputs of one run, by name.
func look(t *testing.T, binary, engine string, port int) {
	dir, passwords, state := t.TempDir(), t.TempDir(), t.TempDir()
	authority := agenttest.NewAuthority(t)
	const gossipKey, stopToken = "c4nary-gossip-key-0123456789abcd", "c4nary-stop-token-0123456789"
	authority.Mount(dir, "prod", "search", config.File{
		ClusterUID: "cluster-uid", Service: "localhost", Engine: engine, Connection: config.Connection{Host: "127.0.0.1", Port: port},
	}, []byte(gossipKey))
	for file, text := range map[string]string{
		"username": "rollcall", "password": canaryPassword, "replication-username": "replica", "replication-password": "r3plica-canary-" + canaryPassword,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(passwords, file), []byte(text+"\n"), 0o600))
	}
	key, err := os.ReadFile(filepath.Join(dir, config.KeyKey))
	require.NoError(t, err)
	block, _ := pem.Decode(key)
	secrets := canary.Secrets{
		"the database's password": canaryPassword, "the replicas' password": "r3plica-canary-" + canaryPassword,
		"the gossip key": gossipKey, "the stop hook's token": stopToken,
		// The first 36 bytes of a key's DER are the same for all.
		"the private key": string(block.Bytes[36:]),
		"the key file":    strings.Split(string(key), "\n")[1][48:],
	}

	log, out := &locked.Buffer{}, &locked.Buffer{}
	process := exec.CommandContext(t.Context(), binary, "-config-dir", dir, "-credentials-dir", passwords, "-state-dir", state,
		"-grpc-addr", "127.0.0.1:0", "-http-addr", "127.0.0.1:0", "-gossip-port", fmt.Sprint(freePort(t)), "-log-level", "DEBUG")
	process.Env = []string{
		config.EnvNamespace + "=prod", config.EnvCluster + "=search", config.EnvPod + "=search-0", config.EnvPodUID + "=uid-0",
		config.EnvPodIP + "=127.0.0.1", config.EnvStopToken + "=" + stopToken, config.EnvGraceSeconds + "=30", "GOTRACEBACK=all",
	}
	process.Stdout, process.Stderr = out, log
	require.NoError(t, process.Start())
	t.Cleanup(func() { _ = process.Process.Kill() })
	said := func(key string) string {
		_, after, _ := strings.Cut(log.String(), `"msg":"agent runs"`)
		_, after, _ = strings.Cut(after, `"`+key+`":"`)
		value, _, _ := strings.Cut(after, `"`)
		return value
	}
	eventually(t, log, "it listens", func() bool { return said("grpc") != "" && said("http") != "" })

	outputs := map[string]string{}
	connection, err := grpc.NewClient(said("grpc"), grpc.WithTransportCredentials(
		credentials.NewTLS(authority.Client(config.ServerName("prod", "search"), config.RoleCoordinator))))
	require.NoError(t, err)
	defer connection.Close()
	agent := rollcallv1.NewAgentServiceClient(connection)
	keep := func(name string, answer proto.Message, err error) {
		outputs[name] += fmt.Sprint(protojson.Format(answer), answer, err)
	}
	eventually(t, log, "it was refused", func() bool {
		report, err := agent.GetReport(t.Context(), &rollcallv1.GetReportRequest{Fresh: true, AllGroups: true})
		keep("GetReport", report, err)
		return err == nil && report.GetError()+report.GetVerdictReason() != ""
	})
	roster, err := agent.GetRoster(t.Context(), &rollcallv1.GetRosterRequest{})
	keep("GetRoster", roster, err)
	planned, err := agent.PlanDrain(t.Context(), &rollcallv1.PlanDrainRequest{})
	keep("PlanDrain", planned, err)
	drained, err := agent.Drain(t.Context(), &rollcallv1.DrainRequest{})
	keep("Drain", drained, err)
	for _, path := range []string{"/metrics", "/healthz", "/readyz", config.StopPath + "?token=wrong", "/debug/pprof/cmdline", "/debug/vars", "/none"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+said("http")+path, nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		_ = response.Body.Close()
		outputs[path] = fmt.Sprint(response.Header) + string(body)
	}
	require.NotEmpty(t, outputs["/metrics"])

	// It reads a wrong key file, and says so; then it crashes.
	require.NoError(t, os.WriteFile(filepath.Join(dir, config.KeyGossip), []byte(gossipKey+"!"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(passwords, "username"), nil, 0o600))
	eventually(t, log, "it sees the wrong key", func() bool { return strings.Contains(log.String(), config.KeyGossip) })
	eventually(t, log, "it sees that there is no user", func() bool {
		report, err := agent.GetReport(t.Context(), &rollcallv1.GetReportRequest{Fresh: true})
		keep("GetReport", report, err)
		return strings.Contains(report.GetError()+report.GetVerdictReason(), "username")
	})
	require.NoError(t, process.Process.Signal(syscall.SIGQUIT))
	require.Error(t, process.Wait())
	require.Contains(t, log.String(), "goroutine ", "it printed what it was doing")
	outputs["standard output"], outputs["log and crash"] = out.String(), log.String()
	require.NoError(t, filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		outputs["the state's file "+d.Name()] = string(text)
		return err
	}))
	for name, output := range outputs {
		for _, found := range secrets.Find(output) {
			t.Errorf("%s: %s shows %s", engine, name, found)
		}
	}
}

func freePort(t *testing.T) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
