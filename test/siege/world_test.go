package siege

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/deploy/manifests"
	"github.com/rollcall-dev/rollcall/test/apiserver"
)

const (
	envPrograms = "ROLLCALL_CLUSTER_PROGRAMS"
	envRequire  = "ROLLCALL_REQUIRE"
)

// world is an API server on loopback with Rollcall's manifest in it, and the program to attack.
type world struct {
	t          *testing.T // of all attacks
	programs   string     // as PATH
	dir        string
	server     *apiserver.Server
	admin      kubernetes.Interface
	objects    dynamic.Interface
	crd        *unstructured.Unstructured
	deployment appsv1.Deployment
	limit      int64  // of the coordinator's memory
	files      int    // that a process may have
	program    string // rollcall-coordinator
	rolling    *rolling
	coordinators
}

// newWorld skips, or fails where it is required, when this machine cannot have one.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, programs: os.Getenv(envPrograms)}
	unless(t, w.lacks())
	w.files = files(t)
	w.dir = t.TempDir()
	w.readManifest(t)
	w.program = build(t, w.dir, "rollcall-coordinator")
	w.startControlPlane(t)
	w.install(t)
	return w
}

func (w *world) lacks() string {
	if w.programs == "" {
		return envPrograms + " is not set; it lists the folders of kube-apiserver and etcd: `rollcall-cluster programs` prints them"
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if w.find(name) == "" {
			return "there is no " + name + " in " + w.programs
		}
	}
	return noGroups()
}

// noGroups says why no control group with a memory limit can be made.
func noGroups() string {
	probe, err := makeGroup(groupName(), 64<<20)
	if err != nil {
		return "no control group with a memory limit can be made: " + err.Error()
	}
	if err := probe.remove(); err != nil {
		return "control groups cannot be removed: " + err.Error()
	}
	return ""
}

// unless skips, or fails where the siege is required, for a reason that is not empty.
func unless(t *testing.T, why string) {
	t.Helper()
	switch {
	case why == "":
	case strings.Contains(os.Getenv(envRequire), "siege"):
		t.Fatalf("%s asks for siege, and it cannot be laid: %s", envRequire, why)
	default:
		t.Skip("NOTHING WAS ATTACKED: " + why)
	}
}

func (w *world) find(name string) string {
	for _, dir := range filepath.SplitList(w.programs) {
		if file := filepath.Join(dir, name); exec.Command(file, "--version").Run() == nil {
			return file
		}
	}
	return ""
}

// files is how many files a process may have, raised to what container runtimes give
// where that is allowed, for the attacker and the attacked.
func files(t *testing.T) int {
	t.Helper()
	const enough = 1 << 16
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	if limit.Cur >= enough {
		return enough
	}
	if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: enough, Max: max(limit.Max, enough)}) == nil {
		return enough
	}
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit.Max, Max: limit.Max}))
	return int(limit.Max)
}

// readManifest learns how the chart runs the coordinator. The manifest is the chart
// with its own values; a test of deploy/manifests compares them.
func (w *world) readManifest(t *testing.T) {
	t.Helper()
	for _, object := range documents(t) {
		switch object.GetKind() {
		case "Deployment":
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &w.deployment))
		case "CustomResourceDefinition":
			w.crd = object
		}
	}
	require.Len(t, w.deployment.Spec.Template.Spec.Containers, 1)
	limit := w.deployment.Spec.Template.Spec.Containers[0].Resources.Limits.Memory()
	w.limit = limit.Value()
	text, err := os.ReadFile("../../deploy/chart/values.yaml")
	require.NoError(t, err)
	var values struct {
		Resources struct{ Limits struct{ Memory string } }
	}
	require.NoError(t, yaml.Unmarshal(text, &values))
	require.Equal(t, values.Resources.Limits.Memory, limit.String(), "the manifest is not that of the chart's values")
	require.NotNil(t, w.crd)
}

func documents(t *testing.T) (all []*unstructured.Unstructured) {
	t.Helper()
	text, err := manifests.Install(manifests.Options{})
	require.NoError(t, err)
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(document), &object.Object))
		if object.GetKind() != "" {
			all = append(all, object)
		}
	}
	return all
}

// build makes a program of this tree.
func build(t *testing.T, dir, name string, flags ...string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	argv := append([]string{"build", "-o", file}, flags...)
	if overlay := os.Getenv("ROLLCALL_OVERLAY"); overlay != "" { // of test/cmd/mutate
		argv = append(argv, "-overlay", overlay)
	}
	command := exec.CommandContext(t.Context(), "go", append(argv, "github.com/rollcall-dev/rollcall/cmd/"+name)...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))
	return file
}

// startControlPlane starts etcd and the API server alone: nothing here needs nodes or controllers.
func (w *world) startControlPlane(t *testing.T) {
	t.Helper()
	programs := map[string]string{"etcd": w.find("etcd"), "kube-apiserver": w.find("kube-apiserver")}
	w.server = apiserver.StartPrograms(t, programs, "--quota-backend-bytes=8589934592") // tenants fill it on purpose
	var err error
	w.admin, err = kubernetes.NewForConfig(w.server.Admin)
	require.NoError(t, err)
	w.objects, err = dynamic.NewForConfig(w.server.Admin)
	require.NoError(t, err)
}

// install applies the manifest, as `kubectl apply` does.
func (w *world) install(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	groups, err := restmapper.GetAPIGroupResources(w.admin.Discovery())
	require.NoError(t, err)
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	w.namespace(t, manifests.Namespace)
	for _, object := range documents(t) {
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		require.NoError(t, err)
		// The aggregated view needs its controllers; everything else is as it will be.
		_, err = w.objects.Resource(mapping.Resource).Namespace(object.GetNamespace()).
			Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "siege", Force: true})
		require.NoError(t, err, "%s %s", kind.Kind, object.GetName())
	}
	require.Eventually(t, func() bool {
		_, err := w.clusters("default").List(ctx, metav1.ListOptions{})
		return err == nil
	}, time.Minute, 200*time.Millisecond, "DatabaseClusters are not served")
}

func (w *world) namespace(t *testing.T, name string) {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	_, err := w.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).
		Apply(t.Context(), name, object, metav1.ApplyOptions{FieldManager: "siege", Force: true})
	require.NoError(t, err)
}

func (w *world) clusters(namespace string) dynamic.ResourceInterface {
	return w.objects.Resource(schema.GroupVersionResource{Group: "rollcall.dev", Version: "v1alpha1", Resource: "databaseclusters"}).Namespace(namespace)
}

// served counts requests that the API server answered, by its own metrics.
func (w *world) served(ctx context.Context, resource string) (count int) {
	text, err := w.admin.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "apiserver_request_total{") && strings.Contains(line, `resource="`+resource+`"`) {
			n, _ := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
			count += int(n)
		}
	}
	return count
}

// freeAddress is one on loopback that nobody has.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

func mebibytes(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }
