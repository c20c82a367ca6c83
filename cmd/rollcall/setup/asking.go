package setup

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/listen"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/reach"
)

// askWithin bounds how long one pod is asked. Tests set it.
var askWithin = 15 * time.Second

// askPods asks one pod of each StatefulSet how it wants to be spoken to, as its agent will: on its
// loopback address, by a port-forward. Where people may not do that, it is noted.
func askPods(ctx context.Context, a *cli.App, k cli.API, f *doctor.Facts) {
	config, err := a.Config()
	if err != nil {
		return // the clients of k were made from it
	}
	for i := range f.Sets {
		set := &f.Sets[i]
		asking, ask := f.Asking(set)
		if !ask {
			continue
		}
		heard, err := askPod(ctx, k, config, asking)
		if f.Live.Tried("how pod "+asking.Pod+" wants to be spoken to (TLS, login)", err) {
			f.Live.Heard[set.Name] = doctor.Heard{Pod: asking.Pod, Heard: heard}
		}
	}
}

func askPod(ctx context.Context, k cli.API, config *rest.Config, asking doctor.Asking) (listen.Heard, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	q := asking.Question
	if asking.Secret != "" {
		// What the pod is shown is what its agent will show it.
		if secret, err := k.Core.CoreV1().Secrets(k.Namespace).Get(ctx, asking.Secret, metav1.GetOptions{}); err == nil {
			q.User, q.Password = string(secret.Data[corev1.BasicAuthUsernameKey]), string(secret.Data[corev1.BasicAuthPasswordKey])
		}
	}
	if asking.Client != "" {
		if secret, err := k.Core.CoreV1().Secrets(k.Namespace).Get(ctx, asking.Client, metav1.GetOptions{}); err == nil {
			pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
			if err != nil {
				return listen.Heard{}, fmt.Errorf("secret %s has no certificate with its key: %w", asking.Client, err)
			}
			q.Client = &pair
		}
	}
	pod, err := reach.OpenPod(ctx, config, k.Namespace, asking.Pod, asking.Port)
	if err != nil {
		return listen.Heard{}, err
	}
	defer pod.Close()
	q.Dial = pod.Dial
	heard, err := listen.Ask(ctx, q)
	if err != nil {
		return heard, fmt.Errorf("port %d: %w", asking.Port, err)
	}
	return heard, nil
}
