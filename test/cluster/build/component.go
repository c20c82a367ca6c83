// Package build makes the programs of a cluster from Go modules, once per version: the results lie in a cache that
// all clusters of a user share, under a key of everything that goes into them.
package build

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// Component is one nested module, with the programs that are built from it in one go.
type Component struct {
	Name     string            // of the module's folder beside this file
	Title    string            // for people
	Version  string            // module path whose version people want to read; empty means it has none
	Programs map[string]string // import path to name of the program
	Stamp    []string          // variables that the linker sets to the version
	Static   bool              // runs where there is no C library
}

// Components is all that a cluster runs, in the order in which it is built: the shortest first, so that what is
// wrong with the machine shows early.
func Components() []Component {
	return []Component{
		{Name: "pause", Title: "the pause program", Programs: map[string]string{".": "pause"}, Static: true},
		{
			Name: "dns", Title: "cluster DNS", Version: "github.com/coredns/coredns",
			Programs: map[string]string{".": "coredns"},
		},
		{
			Name: "runtime", Title: "etcd, containerd and network plug-ins", Version: "github.com/containerd/containerd/v2",
			Programs: map[string]string{
				"go.etcd.io/etcd/server/v3":                                       "etcd",
				"github.com/containerd/containerd/v2/cmd/containerd":              "containerd",
				"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2": "containerd-shim-runc-v2",
				"github.com/containerd/containerd/v2/cmd/ctr":                     "ctr",
				"github.com/containernetworking/plugins/plugins/main/ptp":         "ptp",
				"github.com/containernetworking/plugins/plugins/main/loopback":    "loopback",
				"github.com/containernetworking/plugins/plugins/ipam/host-local":  "host-local",
				"github.com/containernetworking/plugins/plugins/meta/portmap":     "portmap",
			},
		},
		{
			Name: "kube", Title: "Kubernetes", Version: "k8s.io/kubernetes",
			Programs: map[string]string{
				"k8s.io/kubernetes/cmd/kube-apiserver":          "kube-apiserver",
				"k8s.io/kubernetes/cmd/kube-controller-manager": "kube-controller-manager",
				"k8s.io/kubernetes/cmd/kube-scheduler":          "kube-scheduler",
				"k8s.io/kubernetes/cmd/kube-proxy":              "kube-proxy",
				"k8s.io/kubernetes/cmd/kubelet":                 "kubelet",
				"k8s.io/kubernetes/cmd/kubectl":                 "kubectl",
			},
			Stamp: []string{
				"k8s.io/component-base/version.gitVersion",
				"k8s.io/client-go/pkg/version.gitVersion",
			},
		},
	}
}

// Toolchain is what, beside the sources, decides what a build yields.
type Toolchain struct{ Version, OS, Arch, CGO string }

// Key names the results: any change of module files, sources, programs, linker flags or toolchain gives another one.
func (c Component) Key(source string, t Toolchain) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, t.Version, t.OS, t.Arch, t.CGO, c.Stamp, c.Static)
	for _, p := range c.packages() {
		fmt.Fprintln(h, p, c.Programs[p])
	}
	files, err := filepath.Glob(filepath.Join(source, "*"))
	if err != nil {
		return "", err
	}
	for _, f := range files {
		if ext := filepath.Ext(f); ext != ".go" && ext != ".mod" && ext != ".sum" {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			return "", fmt.Errorf("sources of %s: %w", c.Title, err)
		}
		fmt.Fprintln(h, filepath.Base(f), len(b))
		h.Write(b)
	}
	return c.Name + "-" + hex.EncodeToString(h.Sum(nil))[:12], nil
}

func (c Component) packages() []string {
	var pkgs []string
	for p := range c.Programs {
		pkgs = append(pkgs, p)
	}
	sort.Strings(pkgs)
	return pkgs
}

// outputName is what `go build -o DIR/` calls the program of a package: the last element of its import path, less a
// major version.
func outputName(pkg, module string) string {
	if pkg == "." {
		pkg = module
	}
	base := path.Base(pkg)
	if majorVersion.MatchString(base) {
		base = path.Base(path.Dir(pkg))
	}
	return base
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// PinnedVersion reads from the component's go.mod which version of its main module is built.
func (c Component) PinnedVersion(source string) (string, error) {
	if c.Version == "" {
		return "", nil
	}
	b, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("sources of %s: %w", c.Title, err)
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		f := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(f) >= 2 && f[0] == c.Version {
			return f[1], nil
		}
	}
	return "", fmt.Errorf("%s: no requirement of %s", filepath.Join(source, "go.mod"), c.Version)
}
