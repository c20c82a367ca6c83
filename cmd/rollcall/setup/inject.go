package setup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/inject"
)

// stopTokens match tokens that are valid in HTTP headers and hard to guess.
var stopTokens = regexp.MustCompile(`^[A-Za-z0-9_-]{16,128}$`)

// Inject adds the agent to a manifest.
func Inject(a *cli.App) *cobra.Command {
	var file, pullPolicy, stopToken string
	var opts inject.ManifestOptions
	cmd := &cobra.Command{
		Use:   "inject -f FILE",
		Short: "Add the agent to the StatefulSets of a manifest",
		Long: `Add the agent to the StatefulSets of a manifest, for those who do without the
webhook. A StatefulSet is changed when its pod template has the label
` + v1alpha1.LabelCluster + `; every other document is written as it was. What has
an agent already stays as it is. Apply the result when Rollcall guards the pods (Event
GuardEnforced): it changes the pod templates, and Kubernetes would roll that by itself.

Each agent gets a stop token, which its stop hook asks for. Without --stop-token that
is a new one each time: keep what was written and apply that, or give the same
token each time. Otherwise every injection of a fresh manifest changes the pod
templates, and every pod restarts. All pods of a template have the same token; the
webhook, which makes one for each pod, replaces it where it is installed.`,
		Example: fmt.Sprintf("  helm template search ./chart | %[1]s inject -f - --agent-image registry.example/rollcall/agent:v1 | kubectl apply -f -", a.Name),
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			opts.PullPolicy = corev1.PullPolicy(pullPolicy)
			if stopToken != "" {
				if !stopTokens.MatchString(stopToken) {
					return errors.New("--stop-token: must be 16 to 128 letters, digits, - or _, such as openssl rand -hex 16 makes")
				}
				opts.Token = func() string { return stopToken }
			}
			return injectInto(a, file, opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&file, "filename", "f", "", "manifest to read, - for standard input")
	flags.StringVar(&opts.Image, "agent-image", "", "image of the agent; by digest it is the same everywhere")
	flags.StringVar(&pullPolicy, "agent-pull-policy", string(corev1.PullIfNotPresent), "pull policy of the agent's image")
	flags.StringVar(&opts.CredentialsSecret, "credentials-secret", "", "Secret with the username and password that the agent uses; the annotation "+v1alpha1.AnnotationCredentialsSecret+" wins over it")
	flags.BoolVar(&opts.KeepPreStop, "keep-prestop", false, "keep a preStop hook that is there, and do without the agent's")
	flags.StringVar(&stopToken, "stop-token", "", "token that the agent's stop hook asks for, the same each time; default: a new one, which changes the template")
	_ = cmd.MarkFlagRequired("filename")
	_ = cmd.MarkFlagRequired("agent-image")
	return cmd
}

func injectInto(a *cli.App, file string, opts inject.ManifestOptions) error {
	in := a.In
	opts.Name = file
	if file == "-" {
		opts.Name = "standard input"
	} else {
		f, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("--filename: %w", err)
		}
		defer f.Close()
		in = f
	}
	result, err := inject.Manifest(in, a.AsItIs(), opts)
	if err != nil {
		if errors.Is(err, inject.ErrPreStop) {
			return fmt.Errorf("%w\nSee --keep-prestop, or annotate the pod template with %s: %s", err, v1alpha1.AnnotationPreStop, v1alpha1.PreStopChain)
		}
		return err
	}
	var said strings.Builder
	for _, w := range result.Warnings {
		fmt.Fprintf(&said, "warning: %s\n", w)
	}
	if result.Changed == 0 {
		fmt.Fprintf(&said, "0 StatefulSets changed: %d have an agent already, %d have no label %s in their pod template\n",
			result.Present, result.Unlabelled, v1alpha1.LabelCluster)
	}
	_, err = io.WriteString(a.ErrOut, said.String())
	return err
}
