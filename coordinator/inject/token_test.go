package inject

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// TestPodOfATemplateGetsItsOwnToken: "rollcall inject" gives all pods of a template
// one token, since nothing in a template differs by pod; the webhook gives each its
// own, in the agent and in the hook, and once only.
func TestPodOfATemplateGetsItsOwnToken(t *testing.T) {
	for _, input := range []string{"plain", "chain", "keep"} {
		pod := readPod(t, "testdata/pod/"+input+".in.yaml")
		template, _, err := Template(&corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec},
			Options{Image: "example.com/rollcall/agent:1", Token: func() string { return "of-the-template" }})
		require.NoError(t, err)
		pod.Spec = template.Spec
		shared, err := json.Marshal(pod)
		require.NoError(t, err)
		require.Equal(t, map[string]int{"plain": 2, "chain": 2, "keep": 1}[input], strings.Count(string(shared), "of-the-template"))

		got, warnings, err := Pod(pod, testOptions())
		require.NoError(t, err)
		require.Empty(t, warnings)
		text, err := json.Marshal(got)
		require.NoError(t, err)
		if input == "keep" { // nobody knows who calls with it
			require.Equal(t, string(shared), string(text))
			continue
		}
		require.Equal(t, strings.ReplaceAll(string(shared), "of-the-template", pod.Name+".token-1"), string(text), "nothing else changes")

		again, _, err := Pod(got, testOptions())
		require.NoError(t, err)
		require.Equal(t, got, again)
		another := got.DeepCopy()
		another.Name = "another-7"
		other, _, err := Pod(another, testOptions())
		require.NoError(t, err)
		text, err = json.Marshal(other)
		require.NoError(t, err)
		require.Equal(t, 2, strings.Count(string(text), "another-7.token-1"))
		require.NotContains(t, string(text), pod.Name+".token-1")
	}
}

func TestTokensDiffer(t *testing.T) {
	token := func() string {
		got, _, err := Pod(readPod(t, "testdata/pod/plain.in.yaml"), Options{Image: "x"})
		require.NoError(t, err)
		return got.Spec.Containers[0].Lifecycle.PreStop.HTTPGet.HTTPHeaders[0].Value
	}
	a, b := token(), token()
	require.NotEqual(t, a, b)
	pod := readPod(t, "testdata/pod/plain.in.yaml").Name
	require.True(t, strings.HasPrefix(a, pod+"."), a)
	require.GreaterOrEqual(t, len(a)-len(pod), 1+26)
}
