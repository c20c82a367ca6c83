package inject

import (
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
)

// MinGraceSeconds is the least terminationGracePeriodSeconds of a pod with an
// agent: what a handoff of a large node needs. Longer ones stay as they are.
const MinGraceSeconds = 120

// Options say what to add.
type Options struct {
	// Image of the agent; needed. By digest it is the same everywhere.
	Image string
	// PullPolicy of the image. Default: IfNotPresent.
	PullPolicy corev1.PullPolicy
	// CredentialsSecret is the name of the Secret with the username and
	// password that the agent uses. The annotation
	// rollcall.dev/credentials-secret wins over it. Default: the name that
	// v1alpha1.CredentialsSecretName gives; there need be no such Secret.
	CredentialsSecret string
	// Withheld is why a Secret with credentials is not mounted, or empty. Default: each is.
	Withheld func(secret string) string
	// KeepPreStop injects all but the agent's stop hook, with a warning, where the database's
	// container already has a preStop hook and no annotation says what becomes of it.
	// Otherwise nothing is injected, and ErrPreStop returned.
	KeepPreStop bool
	// CloseGuard adds the label rollcall.dev/guard: closed, and the one that says of
	// which DatabaseCluster. Only the webhook sets it.
	CloseGuard bool
	// Token makes the secret that the kubelet shows to the agent's stop hook.
	// Default: 128 random bits as text.
	Token func() string
}

// ErrPreStop is for a container whose own preStop hook is in the way.
var ErrPreStop = errors.New("has a preStop hook of its own")

// imageName has the characters that names of images are made of. Whether the
// image exists is for the kubelet to say.
var imageName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@+-]*$`)

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Image == "":
		return o, errors.New("no image of the agent was given")
	case !imageName.MatchString(o.Image):
		return o, fmt.Errorf("image of the agent is %q: must be a name such as registry.example/rollcall/agent:v1", o.Image)
	}
	switch o.PullPolicy {
	case "":
		o.PullPolicy = corev1.PullIfNotPresent
	case corev1.PullIfNotPresent, corev1.PullAlways, corev1.PullNever:
	default:
		return o, fmt.Errorf("pull policy of the agent's image is %q: must be IfNotPresent, Always or Never", o.PullPolicy)
	}
	if o.Token == nil {
		o.Token = rand.Text
	}
	return o, nil
}

// Warning is something that a person should know of, though it did not stop
// the injection.
type Warning string
