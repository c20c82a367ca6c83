package inject

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestChainRunsBoth runs the chained command in a shell that has nothing but
// the programs of the case: the agent is asked first, and the hook that was
// there runs in any case, with its arguments and its exit status.
func TestChainRunsBoth(t *testing.T) {
	shell, err := exec.LookPath("/bin/sh")
	if err != nil {
		t.Skip("there is no /bin/sh")
	}
	const note = "#!/bin/sh\necho \"${0##*/} $*\" >> \"$LOG\"\n"
	for name, c := range map[string]struct {
		programs map[string]string
		log      string
		stderr   string
	}{
		"curl": {
			map[string]string{"curl": note, "wget": note},
			"curl -sS -o /dev/null --max-time 120 -H Rollcall-Token: t0ken http://localhost:7948/stop\nold --gently a b\n", "",
		},
		"wget": {
			map[string]string{"wget": note},
			"wget -q -O /dev/null -T 120 --header Rollcall-Token: t0ken http://localhost:7948/stop\nold --gently a b\n", "",
		},
		"the agent does not answer": {
			map[string]string{"curl": "#!/bin/sh\necho refused >&2; exit 7\n"},
			"old --gently a b\n", "refused\n",
		},
		"neither": {
			nil,
			"old --gently a b\n", "rollcall: neither curl nor wget is in this image, so the agent was not asked\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for program, text := range c.programs {
				require.NoError(t, os.WriteFile(filepath.Join(dir, program), []byte(text), 0o755))
			}
			old := filepath.Join(dir, "old")
			require.NoError(t, os.WriteFile(old, []byte(note+"exit 3\n"), 0o755))
			hook := &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{old, "--gently", "a b"}}}
			require.NoError(t, chain(hook, "t0ken", 120))
			require.Equal(t, shell, hook.Exec.Command[0])

			log := filepath.Join(dir, "log")
			cmd := exec.Command(hook.Exec.Command[0], hook.Exec.Command[1:]...)
			cmd.Env = []string{"PATH=" + dir, "LOG=" + log}
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			err := cmd.Run()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
			require.Equal(t, 3, exit.ExitCode(), "the old hook's status is the hook's")
			text, err := os.ReadFile(log)
			require.NoError(t, err)
			require.Equal(t, c.log, string(text))
			require.Equal(t, c.stderr, stderr.String())
		})
	}
}

// TestTheDatabaseIsNotTheFirst checks that the stop hook is the database's where the proxy of a mesh
// stands before it.
func TestTheDatabaseIsNotTheFirst(t *testing.T) {
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelCluster: "search"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "istio-proxy", Image: "istio/proxyv2:1.24"}, {Name: "node", Image: "opensearchproject/opensearch:3", Ports: []corev1.ContainerPort{{ContainerPort: 9200}}},
		}},
	}
	got, warnings, err := Template(template, testOptions())
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Nil(t, got.Spec.Containers[0].Lifecycle)
	require.NotNil(t, got.Spec.Containers[1].Lifecycle.PreStop)
	template.Annotations = map[string]string{v1alpha1.AnnotationContainer: "istio-proxy"}
	got, _, err = Template(template, testOptions())
	require.NoError(t, err)
	require.NotNil(t, got.Spec.Containers[0].Lifecycle.PreStop, "what a person says counts")
}
