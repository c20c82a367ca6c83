package apiserver

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

// refusedWithin is the promise: how long an old connection may still be answered.
const refusedWithin = time.Second

// TestOldConnectionsEndWithinASecond checks that two coordinators and an agent, the programs
// themselves, go through a rotation of the authority. Connections that were made before, with
// certificates that the former authority had signed, are answered until that is trusted no more,
// and refused their next call a second later; those of coordinators to the agent go on all the
// while.
func TestOldConnectionsEndWithinASecond(t *testing.T) {
	s, admin := installed(t)
	withAgent := strings.Replace(guarded, "spec: {containers:", "spec: {initContainers: [{name: rollcall-agent, image: agent, restartPolicy: Always}], containers:", 1)
	require.NotEqual(t, guarded, withAgent)
	s.Apply(withAgent)
	w := &work{t: t, server: s, admin: admin}
	w.build()
	coordinators := []*running{w.start("coordinator-0"), w.start("coordinator-1")}
	secrets := admin.CoreV1().Secrets(install)
	var reader, authority *corev1.Secret
	eventually(t, "the certificates", func(ctx context.Context) (err error) {
		if reader, err = secrets.Get(ctx, pki.SecretReader, metav1.GetOptions{}); err != nil {
			return err
		}
		authority, err = secrets.Get(ctx, pki.SecretAuthority, metav1.GetOptions{})
		return err
	})
	agent := w.agent()
	eventually(t, "reports", func(ctx context.Context) error {
		for _, c := range coordinators {
			if age, err := c.reportAge(ctx); err == nil && age > 0 && age < 5 {
				return nil
			}
		}
		return errors.New("no coordinator has one that is new")
	})

	// Connections of people, and of a thief of the authority's key.
	former, err := pki.DecodeAuthority(authority.Data)
	require.NoError(t, err)
	person, err := pki.ParsePair(reader.Data[config.KeyCert], reader.Data[config.KeyKey])
	require.NoError(t, err)
	thief, err := former.Issue(pki.ClientProfile(config.RoleCoordinator), time.Now())
	require.NoError(t, err)
	var old []*oldConnection
	for _, c := range coordinators {
		old = append(old, askCoordinator(t, c, person, former), askPage(t, c, person, former), askCoordinator(t, c, thief, former))
	}
	old = append(old, askAgent(t, agent, person, former), askAgent(t, agent, thief, former))
	for _, o := range old {
		eventually(t, o.what, o.call)
	}
	calling, stop := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for _, o := range old {
		callers.Go(func() { o.run(calling) })
	}
	var oldest, looks atomic.Int64 // age of the leader's reports, in milliseconds
	callers.Go(func() {
		for ; calling.Err() == nil; time.Sleep(200 * time.Millisecond) {
			least := -1.0
			for _, c := range coordinators {
				if age, err := c.reportAge(calling); err == nil && (least < 0 || age < least) {
					least = age
				}
			}
			if least > 0 {
				looks.Add(1)
				oldest.Store(max(oldest.Load(), int64(1000*least)))
			}
		}
	})

	// The rotation, with minutes made seconds.
	began := time.Now()
	patch := func(body string) {
		t.Helper()
		_, err := secrets.Patch(t.Context(), pki.SecretAuthority, types.MergePatchType, []byte(body), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	rotation := func() *corev1.Secret {
		t.Helper()
		secret, err := secrets.Get(t.Context(), pki.SecretAuthority, metav1.GetOptions{})
		require.NoError(t, err)
		return secret
	}
	step := func(what string) {
		t.Helper()
		eventually(t, what, func(context.Context) error {
			if said := rotation().Annotations[pki.AnnotationRotation]; !strings.HasPrefix(said, what) {
				return fmt.Errorf("it is %q", said)
			}
			return nil
		})
	}
	patch(`{"metadata":{"annotations":{"rollcall.dev/rotate":"now"}}}`)
	step("step 1 of 3")
	require.Less(t, time.Since(began), 5*time.Second, "a rotation begins at once")
	soon := func(d time.Duration) []byte { return []byte(time.Now().Add(d).UTC().Format(time.RFC3339)) }
	data := func(key string, value []byte) string {
		return fmt.Sprintf(`{"data":{%q:%q}}`, key, base64.StdEncoding.EncodeToString(value))
	}
	time.Sleep(3 * time.Second)
	patch(data("next.signs", soon(2*time.Second)))
	step("step 2 of 3")
	eventually(t, "the agent to have a certificate of the next authority", func(context.Context) error {
		now, err := pki.DecodeAuthority(rotation().Data)
		if err != nil {
			return err
		}
		if pair, err := pki.ParsePair(agent.file(config.KeyCert), agent.file(config.KeyKey)); err != nil || !now.SignedBySigner(pair.Certificate()) {
			return fmt.Errorf("not yet: %v", err)
		}
		return nil
	})
	for _, o := range old {
		require.Empty(t, o.refusals(), "%s: refused while both are trusted", o.what)
	}
	watching, err := secrets.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + pki.SecretAuthority})
	require.NoError(t, err)
	defer watching.Stop()
	patch(data("former.until", soon(3*time.Second)))
	var dropped time.Time
	for event := range watching.ResultChan() {
		if secret, ok := event.Object.(*corev1.Secret); ok && secret.Annotations[pki.AnnotationRotation] == "done" {
			dropped = time.Now()
			break
		}
	}
	require.False(t, dropped.IsZero())
	eventually(t, "the agent to be told", func(context.Context) error {
		if agent.told().Before(dropped) {
			return errors.New("not yet")
		}
		return nil
	})
	time.Sleep(3 * time.Second)
	stop()
	callers.Wait()

	for _, o := range old {
		since := dropped
		if o.agent {
			since = agent.told()
		}
		first, last := o.firstRefusal(), o.lastAnswer()
		t.Logf("%-45s %5d answers, refused after %4d ms, last answer after %4d ms", o.what, o.answers.Load(), first.Sub(since).Milliseconds(), last.Sub(since).Milliseconds())
		require.False(t, first.IsZero(), "%s is answered for ever", o.what)
		require.Less(t, last.Sub(since), refusedWithin, "%s", o.what)
	}
	t.Logf("reports of the leader were at most %d ms old, in %d looks", oldest.Load(), looks.Load())
	require.Greater(t, looks.Load(), int64(20))
	require.Less(t, oldest.Load(), int64(10000), "reports went on: at rest there is one in 5 seconds")

	// Who has the new ones is answered.
	present, err := secrets.Get(t.Context(), pki.SecretReader, metav1.GetOptions{})
	require.NoError(t, err)
	person, err = pki.ParsePair(present.Data[config.KeyCert], present.Data[config.KeyKey])
	require.NoError(t, err)
	now, err := pki.DecodeAuthority(rotation().Data)
	require.NoError(t, err)
	for _, o := range []*oldConnection{askCoordinator(t, coordinators[0], person, now), askPage(t, coordinators[1], person, now), askAgent(t, agent, person, now)} {
		eventually(t, o.what, o.call)
	}
}

// agentProcess is the program, with the files that a kubelet would bring it. It has no database.
type agentProcess struct {
	address string
	dir     string

	mu      sync.Mutex
	changed time.Time
}

// told is when the files were last changed.
func (a *agentProcess) told() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changed
}

func (a *agentProcess) file(name string) []byte {
	text, _ := os.ReadFile(filepath.Join(a.dir, name))
	return text
}

// agent runs one, in the pod db-0, at an address of this machine that nobody else has.
func (w *work) agent() *agentProcess {
	w.t.Helper()
	const ip = "127.93.0.2"
	a := &agentProcess{address: net.JoinHostPort(ip, strconv.Itoa(config.PortGRPC)), dir: w.t.TempDir()}
	program := filepath.Join(w.t.TempDir(), "rollcall-agent")
	out, err := exec.CommandContext(w.t.Context(), "go", "build", "-o", program, "../../cmd/rollcall-agent").CombinedOutput()
	require.NoError(w.t, err, "%s", out)
	_, pod := withPod(w.t, w.admin, "prod")
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, ip, []corev1.PodIP{{IP: ip}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	_, err = w.admin.CoreV1().Pods("prod").UpdateStatus(w.t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(w.t, err)
	var last map[string][]byte
	bring := func(ctx context.Context) error {
		secret, err := w.admin.CoreV1().Secrets("prod").Get(ctx, "db-rollcall", metav1.GetOptions{})
		if err != nil {
			return err
		}
		different := false
		for name, text := range secret.Data {
			if string(last[name]) == string(text) {
				continue
			}
			if err := os.WriteFile(filepath.Join(a.dir, name+".new"), text, 0o600); err != nil {
				return err
			}
			different = true
		}
		if !different {
			return nil
		}
		for name := range secret.Data {
			if _, err := os.Stat(filepath.Join(a.dir, name+".new")); err != nil {
				continue
			}
			if err := os.Rename(filepath.Join(a.dir, name+".new"), filepath.Join(a.dir, name)); err != nil {
				return err
			}
		}
		last = secret.Data
		a.mu.Lock()
		a.changed = time.Now()
		a.mu.Unlock()
		return nil
	}
	eventually(w.t, "the agents' Secret", bring)
	ctx, cancel := context.WithCancel(w.t.Context())
	kubelet := make(chan struct{})
	go func() {
		defer close(kubelet)
		for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			if err := bring(ctx); err != nil && ctx.Err() == nil {
				w.t.Error(err)
			}
		}
	}()
	w.t.Cleanup(func() {
		cancel()
		<-kubelet
	})
	cmd := exec.Command(program, "-config-dir", a.dir, "-state-dir", w.t.TempDir(), "-grpc-addr", a.address, "-http-addr", ip+":0")
	cmd.Env = []string{
		config.EnvNamespace + "=prod", config.EnvCluster + "=db", config.EnvPod + "=" + pod.Name, config.EnvPodUID + "=" + string(pod.UID),
		config.EnvPodIP + "=" + ip, config.EnvStopToken + "=token", config.EnvGraceSeconds + "=30",
	}
	w.run(cmd, "the agent")
	return a
}

// run starts a program that ends with the test, and shows what it said when that fails.
func (w *work) run(cmd *exec.Cmd, what string) *log {
	w.t.Helper()
	said := &log{}
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(w.t, cmd.Start())
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if w.t.Failed() {
			w.t.Logf("%s said: %s", what, said.String())
		}
	})
	return said
}

// running is a coordinator with addresses that are known.
type running struct{ identity, grpc, http, page string }

func (w *work) start(identity string) *running {
	w.t.Helper()
	c := &running{identity: identity, grpc: port(w.t), http: port(w.t), page: port(w.t)}
	kubeconfig := w.server.Kubeconfig(identity, w.server.As(w.t.Context(), install, "rollcall-coordinator"))
	w.run(exec.Command(w.program, "--kubeconfig="+kubeconfig, "--namespace="+install, "--identity="+identity,
		"--agent-image=agent", "--grpc-addr="+c.grpc, "--http-addr="+c.http, "--page-addr="+c.page, "--webhook-addr=127.0.0.1:0"), identity)
	return c
}

// reportAge is how old the report of the agent is, of the coordinator that leads.
func (c *running) reportAge(ctx context.Context) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.http+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "rollcall_report_age_seconds{") {
			return strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]), 64)
		}
	}
	return 0, errors.New("it has none")
}
