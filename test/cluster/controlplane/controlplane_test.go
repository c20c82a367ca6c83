package controlplane

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/cluster/pki"
	"github.com/rollcall-dev/rollcall/test/cluster/plan"
	"github.com/rollcall-dev/rollcall/test/cluster/process"
)

func prepared(t *testing.T) (plan.Plan, *pki.Authority) {
	p, err := plan.New(2, "x", t.TempDir(), 1)
	require.NoError(t, err)
	a, err := pki.Open(p.Path("pki"), time.Now)
	require.NoError(t, err)
	require.NoError(t, Prepare(p, a))
	return p, a
}

var bin = map[string]string{
	"etcd": "/b/etcd", "kube-apiserver": "/b/kube-apiserver", "kube-scheduler": "/b/kube-scheduler",
	"kube-controller-manager": "/b/kube-controller-manager", "coredns": "/b/coredns",
}

func TestInputsAreThere(t *testing.T) {
	p, a := prepared(t)
	specs := append([]process.Spec{Etcd(p, bin), APIServer(p, bin, a)}, Controllers(p, bin, a)...)
	names := map[string]bool{}
	for _, s := range specs {
		require.False(t, names[s.Name])
		names[s.Name] = true
		for _, in := range s.Inputs {
			require.FileExists(t, in, s.Name)
		}
		require.Empty(t, s.Netns, "the control plane runs on the host")
		require.True(t, strings.HasPrefix(s.Log, p.Path("log")))
	}
}

func TestPrepareTwiceChangesNothing(t *testing.T) {
	p, a := prepared(t)
	read := func() map[string]string {
		out := map[string]string{}
		for _, pattern := range []string{"pki/*", "config/*", "*.kubeconfig"} {
			files, err := filepath.Glob(p.Path(pattern))
			require.NoError(t, err)
			for _, f := range files {
				b, err := os.ReadFile(f)
				require.NoError(t, err)
				out[f] = string(b)
			}
		}
		return out
	}
	before := read()
	require.NoError(t, Prepare(p, a))
	require.Equal(t, before, read())
	require.Contains(t, before, p.Kubeconfig())
}

func TestNothingListensBeyondTheMachine(t *testing.T) {
	p, a := prepared(t)
	var all []string
	for _, s := range append([]process.Spec{Etcd(p, bin), APIServer(p, bin, a)}, Controllers(p, bin, a)...) {
		all = append(all, s.Argv...)
	}
	require.False(t, slices.ContainsFunc(all, func(arg string) bool { return strings.Contains(arg, "0.0.0.0") }))
	require.Contains(t, all, "--bind-address="+p.BridgeIP().String())
	require.Contains(t, string(Corefile(p)), "bind "+p.BridgeIP().String())
}
