package inject

import (
	"crypto/rand"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// tokenOf returns a function that creates stop tokens of one pod, which begin with its name. So the
// pod's own token can be told from that of a template.
func tokenOf(pod string, secret func() string) func() string {
	if secret == nil {
		secret = rand.Text
	}
	return func() string { return tokenPrefix(pod) + secret() }
}

func tokenPrefix(pod string) string {
	if pod == "" {
		return ""
	}
	return pod + "."
}

// giveToken replaces the stop token of a template by one of the pod's own, in the agent and in
// every hook that sends it. If no hook does, the old token stays, because its user is not known.
func giveToken(pod *corev1.Pod, token func() string) {
	agent := kube.AgentOf(&pod.Spec)
	if agent == nil {
		return
	}
	env := agent.Env
	at := slices.IndexFunc(env, func(e corev1.EnvVar) bool { return e.Name == config.EnvStopToken })
	if at < 0 || env[at].Value == "" || strings.HasPrefix(env[at].Value, tokenPrefix(pod.Name)) {
		return
	}
	var shown []*string
	for i := range pod.Spec.Containers {
		shown = append(shown, showing(pod.Spec.Containers[i].Lifecycle, env[at].Value)...)
	}
	if len(shown) == 0 {
		return
	}
	own := token()
	for _, place := range append(shown, &env[at].Value) {
		*place = own
	}
}

// showing returns the places of a preStop hook with the token.
func showing(l *corev1.Lifecycle, token string) (places []*string) {
	if l == nil || l.PreStop == nil {
		return nil
	}
	if get := l.PreStop.HTTPGet; get != nil {
		for i := range get.HTTPHeaders {
			if h := &get.HTTPHeaders[i]; h.Name == config.StopHeader && h.Value == token {
				places = append(places, &h.Value)
			}
		}
	}
	if run := l.PreStop.Exec; run != nil {
		for i := range run.Command {
			if run.Command[i] == token {
				places = append(places, &run.Command[i])
			}
		}
	}
	return places
}
