// Package manifests holds Rollcall as a plain manifest, rendered from the chart.
package manifests

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

//go:embed rollcall.yaml
var text string

// What the manifest says where nothing else is asked for.
const (
	Namespace        = "rollcall-system"
	CoordinatorImage = "docker.io/rollcall-dev/coordinator:dev"
	AgentImage       = "docker.io/rollcall-dev/agent:dev"
)

// Options are what differs between installations that do without the chart.
type Options struct {
	// Namespace, CoordinatorImage, AgentImage: empty = those of the manifest.
	Namespace, CoordinatorImage, AgentImage string
}

// image is what the API server takes for one, roughly: nothing that ends a value in YAML.
var image = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@-]*$`)

func (o Options) validate() error {
	if why := validation.IsDNS1123Label(o.Namespace); o.Namespace != "" && len(why) > 0 {
		return fmt.Errorf("namespace %q: %s", o.Namespace, why[0])
	}
	for what, name := range map[string]string{"coordinator": o.CoordinatorImage, "agent": o.AgentImage} {
		if name != "" && !image.MatchString(name) {
			return fmt.Errorf("image of the %s is %q: a name such as registry.example.com/rollcall/%s:v1.2.3 is wanted", what, name, what)
		}
	}
	return nil
}

// Install is everything that runs Rollcall, to be applied on the server's side.
func Install(o Options) (string, error) {
	if err := o.validate(); err != nil {
		return "", err
	}
	return strings.NewReplacer( // in one go: an image may have the namespace in its name
		Namespace, cmp.Or(o.Namespace, Namespace),
		CoordinatorImage, cmp.Or(o.CoordinatorImage, CoordinatorImage),
		AgentImage, cmp.Or(o.AgentImage, AgentImage),
	).Replace(text), nil
}

const (
	separator = "---\n"
	ofCRD     = "\nkind: CustomResourceDefinition\n"
)

// Uninstall is what to delete, in the opposite order. The definition of
// DatabaseCluster, with which every DatabaseCluster goes, is among it only with crd.
func Uninstall(o Options, crd bool) (string, error) {
	all, err := Install(o)
	if err != nil {
		return "", err
	}
	documents := strings.Split(all, "\n"+separator)[1:] // the first is a comment
	slices.Reverse(documents)
	documents = slices.DeleteFunc(documents, func(d string) bool { return !crd && strings.Contains(d, ofCRD) })
	for i, d := range documents {
		documents[i] = separator + strings.TrimRight(d, "\n") + "\n"
	}
	return strings.Join(documents, ""), nil
}
