package inject

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// addStopHook makes the kubelet call the agent before it stops the database.
func addStopHook(database *corev1.Container, annotation, token string, grace int64, keep bool) ([]Warning, error) {
	switch annotation {
	case "", v1alpha1.PreStopChain, v1alpha1.PreStopKeep:
	default:
		return nil, fmt.Errorf("annotation %s is %q: must be %s or %s", v1alpha1.AnnotationPreStop, annotation, v1alpha1.PreStopChain, v1alpha1.PreStopKeep)
	}
	if database.Lifecycle == nil || database.Lifecycle.PreStop == nil {
		if database.Lifecycle == nil {
			database.Lifecycle = &corev1.Lifecycle{}
		}
		database.Lifecycle.PreStop = stopHook(token)
		return nil, nil
	}
	switch {
	case annotation == v1alpha1.PreStopChain:
		if err := chain(database.Lifecycle.PreStop, token, grace); err != nil {
			return nil, fmt.Errorf("container %s: %w", database.Name, err)
		}
		return nil, nil
	case annotation == v1alpha1.PreStopKeep:
		return nil, nil
	case keep:
		return []Warning{Warning(fmt.Sprintf("container %s %v, which was kept: a pod that is deleted by anybody but Rollcall is not handed off first (annotation %s: %s runs both, %s accepts this)",
			database.Name, ErrPreStop, v1alpha1.AnnotationPreStop, v1alpha1.PreStopChain, v1alpha1.PreStopKeep))}, nil
	}
	return nil, fmt.Errorf("container %s %w: remove it, or set the annotation %s in the pod template to %s (exec hooks in an image with /bin/sh and curl or wget: the agent's hook runs first, then the present one) or to %s (the agent gets no hook)",
		database.Name, ErrPreStop, v1alpha1.AnnotationPreStop, v1alpha1.PreStopChain, v1alpha1.PreStopKeep)
}

func stopHook(token string) *corev1.LifecycleHandler {
	return &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{
		Path:        config.StopPath,
		Port:        intstr.FromInt32(config.PortHTTP),
		Scheme:      corev1.URISchemeHTTP,
		HTTPHeaders: []corev1.HTTPHeader{{Name: config.StopHeader, Value: token}},
	}}
}

// chainScript asks the agent and then becomes the hook that was there. The
// arguments are the token, the seconds to wait at most, and the old command.
const chainScript = `token=$1 seconds=$2; shift 2
url=http://localhost:%d%s
if command -v curl >/dev/null; then curl -sS -o /dev/null --max-time "$seconds" -H "%s: $token" "$url"
elif command -v wget >/dev/null; then wget -q -O /dev/null -T "$seconds" --header "%s: $token" "$url"
else echo "rollcall: neither curl nor wget is in this image, so the agent was not asked" >&2; fi
exec "$@"
`

// chain puts the agent's hook before the one that is there.
func chain(hook *corev1.LifecycleHandler, token string, grace int64) error {
	if hook.Exec == nil || len(hook.Exec.Command) == 0 {
		return fmt.Errorf("annotation %s is %s, but the preStop hook is not of the kind exec: only those can be chained",
			v1alpha1.AnnotationPreStop, v1alpha1.PreStopChain)
	}
	script := fmt.Sprintf(chainScript, config.PortHTTP, config.StopPath, config.StopHeader, config.StopHeader)
	hook.Exec.Command = append(
		[]string{"/bin/sh", "-c", script, "rollcall-stop", token, fmt.Sprint(grace)},
		hook.Exec.Command...,
	)
	return nil
}
