// Package apiserver runs a real kube-apiserver with its etcd on loopback, for tests of
// what it lets through: authentication, RBAC and admission are those of a real cluster.
// There are no nodes, and of the controllers only the ones that such tests need.
package apiserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// controllers fill in the roles view, edit and admin, and say what is wrong with
// the expressions of a policy.
const controllers = "clusterrole-aggregation-controller,validatingadmissionpolicy-status-controller"

// ready is how long the server may take until it answers.
const ready = 2 * time.Minute

// programs are those of the local cluster, which test/cluster builds and keeps.
func programs() (map[string]string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for name, folder := range map[string]string{"etcd": "runtime-*", "kube-apiserver": "kube-*", "kube-controller-manager": "kube-*", "kubectl": "kube-*"} {
		files, err := filepath.Glob(filepath.Join(cache, "rollcall", "programs", folder, name))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("no %s in %s: `make cluster` builds it", name, filepath.Join(cache, "rollcall", "programs", folder))
		}
		newest := func(file string) int64 {
			info, err := os.Stat(file)
			if err != nil {
				return 0
			}
			return info.ModTime().UnixNano()
		}
		found[name] = slices.MaxFunc(files, func(a, b string) int { return int(min(1, max(-1, newest(a)-newest(b)))) })
	}
	return found, nil
}

// required reports whether the tests must not be skipped.
func required() bool {
	names := strings.FieldsFunc(os.Getenv("ROLLCALL_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' })
	return slices.Contains(names, "cluster")
}

// Server is a running API server.
type Server struct {
	// Admin may do everything.
	Admin *rest.Config

	t        *testing.T
	dir      string
	programs map[string]string
}

// Start runs a server until the test ends. Without the programs the test is skipped,
// or fails where ROLLCALL_REQUIRE names the cluster.
func Start(t *testing.T) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("runs a real API server")
	}
	found, err := programs()
	if err != nil {
		if required() {
			t.Fatal(err.Error() + " (ROLLCALL_REQUIRE asks for it)")
		}
		t.Skip(err)
	}
	return StartPrograms(t, found)
}

// StartPrograms runs these programs until the test ends: etcd, with these flags more,
// kube-apiserver, and kube-controller-manager if it is among them.
func StartPrograms(t *testing.T, programs map[string]string, etcd ...string) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir(), programs: programs}
	require.NoError(t, s.certificates())
	client, peer, secure, manager := port(t), port(t), port(t), port(t)
	s.run("etcd", append(etcd, "--data-dir="+s.path("etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls=http://"+client, "--advertise-client-urls=http://"+client,
		"--listen-peer-urls=http://"+peer, "--initial-advertise-peer-urls=http://"+peer, "--initial-cluster=default=http://"+peer)...)
	_, number, err := net.SplitHostPort(secure)
	require.NoError(t, err)
	s.run("kube-apiserver", "--etcd-servers=http://"+client, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port="+number,
		"--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.97.0.0/24", "--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		// There is no controller that would make the account of a namespace.
		"--disable-admission-plugins=ServiceAccount",
		"--client-ca-file="+s.path("ca.crt"), "--tls-cert-file="+s.path("server.crt"), "--tls-private-key-file="+s.path("server.key"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+s.path("tokens.pub"),
		"--service-account-signing-key-file="+s.path("tokens.key"), "--profiling=false")
	s.Admin = &rest.Config{Host: "https://" + secure, QPS: -1, TLSClientConfig: rest.TLSClientConfig{
		CAFile: s.path("ca.crt"), CertFile: s.path("admin.crt"), KeyFile: s.path("admin.key")}}
	s.await()
	s.Kubeconfig("admin", s.Admin)
	if programs["kube-controller-manager"] == "" {
		return s
	}
	_, number, err = net.SplitHostPort(manager)
	require.NoError(t, err)
	s.run("kube-controller-manager", "--kubeconfig="+s.path("admin.kubeconfig"), "--bind-address=127.0.0.1", "--secure-port="+number,
		"--leader-elect=false", "--controllers="+controllers, "--profiling=false")
	return s
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

// port is an address on loopback where nobody listens.
func port(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// run starts a program that ends with the test, and shows the end of its log when that fails.
func (s *Server) run(name string, args ...string) {
	log, err := os.Create(s.path(name + ".log"))
	require.NoError(s.t, err)
	cmd := exec.Command(s.programs[name], args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(s.t, cmd.Start())
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && s.t.Failed() {
			s.t.Logf("%s: %s", name, text[max(0, len(text)-2000):])
		}
	})
}

// await waits until the server has all that it makes itself.
func (s *Server) await() {
	client, err := rest.HTTPClientFor(s.Admin)
	require.NoError(s.t, err)
	deadline := time.Now().Add(ready)
	for {
		response, err := client.Get(s.Admin.Host + "/readyz")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
			err = errors.New(response.Status)
		}
		require.True(s.t, time.Now().Before(deadline), "the API server is not ready: %v", err)
		select {
		case <-s.t.Context().Done():
			s.t.Fatal(s.t.Context().Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Kubeconfig writes one, and answers where it is.
func (s *Server) Kubeconfig(name string, who *rest.Config) string {
	s.t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["it"] = &clientcmdapi.Cluster{Server: who.Host, CertificateAuthority: who.CAFile}
	config.AuthInfos["it"] = &clientcmdapi.AuthInfo{ClientCertificate: who.CertFile, ClientKey: who.KeyFile, Token: who.BearerToken}
	config.Contexts["it"] = &clientcmdapi.Context{Cluster: "it", AuthInfo: "it"}
	config.CurrentContext = "it"
	file := s.path(name + ".kubeconfig")
	require.NoError(s.t, clientcmd.WriteToFile(*config, file))
	return file
}

// Apply applies a manifest as kubectl does.
func (s *Server) Apply(manifest string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), s.programs["kubectl"], "--kubeconfig", s.path("admin.kubeconfig"), "apply", "--server-side", "-f", "-")
	cmd.Stdin = strings.NewReader(manifest)
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, "%s", out)
}

// As reaches the server with a token of the account.
func (s *Server) As(ctx context.Context, namespace, account string) *rest.Config {
	s.t.Helper()
	admin, err := kubernetes.NewForConfig(s.Admin)
	require.NoError(s.t, err)
	hour := int64(3600)
	token, err := admin.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hour}}, metav1.CreateOptions{})
	require.NoError(s.t, err)
	config := rest.AnonymousClientConfig(s.Admin)
	config.BearerToken = token.Status.Token
	return config
}

// Documents splits a manifest.
func Documents(manifest string) []string {
	var all []string
	for document := range bytes.SplitSeq([]byte("\n"+manifest), []byte("\n---\n")) {
		if text := strings.TrimSpace(string(document)); text != "" {
			all = append(all, text)
		}
	}
	return all
}
