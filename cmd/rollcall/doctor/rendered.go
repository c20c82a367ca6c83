package doctor

import (
	"crypto/x509"
	"encoding/pem"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
)

// RenderedSecret is a Secret of a manifest. Its values are not kept.
type RenderedSecret struct {
	Namespace, Name string
	// Keys are those whose values look as if a chart had made them up.
	Keys []string
}

// renderedSecret returns which values of a Secret look as if its chart had made them up.
func renderedSecret(s *corev1.Secret) RenderedSecret {
	data := maps.Clone(s.Data)
	if data == nil {
		data = map[string][]byte{}
	}
	for key, value := range s.StringData {
		data[key] = []byte(value)
	}
	r := RenderedSecret{Namespace: s.Namespace, Name: s.Name}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if random(string(data[key])) {
			r.Keys = append(r.Keys, key)
		}
	}
	if together(data["tls.crt"], data["ca.crt"]) && len(data["tls.key"]) > 0 {
		r.Keys = append(r.Keys, "tls.key")
	}
	return r
}

// word is what charts make passwords of: letters and digits alone.
var word = regexp.MustCompile(`^[A-Za-z0-9]{8,64}$`)

// random reports whether a text looks as if nobody had chosen it: a word in which large letters, small
// ones and digits change all the time.
func random(text string) bool {
	if !word.MatchString(text) {
		return false
	}
	kind := func(r rune) int {
		switch {
		case unicode.IsDigit(r):
			return 1
		case unicode.IsUpper(r):
			return 2
		}
		return 3
	}
	changes, last := 0, 0
	for _, r := range text {
		if k := kind(r); k != last {
			changes, last = changes+1, k
		}
	}
	return changes*5 >= len(text)*2
}

// together reports whether a certificate and its authority were made in the same minute, as a chart
// makes them.
func together(certificate, authority []byte) bool {
	a, b := begins(certificate), begins(authority)
	return !a.IsZero() && !b.IsZero() && a.Sub(b).Abs() <= time.Minute
}

func begins(text []byte) time.Time {
	block, _ := pem.Decode(text)
	if block == nil {
		return time.Time{}
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}
	}
	return c.NotBefore
}

// renderedSecrets finds Secrets of a manifest that are others with each rendering, and that the pods
// use.
func renderedSecrets(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) (out []Finding) {
		for _, s := range f.Rendered {
			if len(s.Keys) == 0 || !sameNamespace(s.Namespace, set.Namespace) || !uses(set, s.Name) {
				continue
			}
			found := "Secret " + s.Name + " is part of this rendering, and what it has in " + strings.Join(s.Keys, ", ") + " looks as if the chart had made it up: each rendering has something else, and whoever applies one changes it under the running database"
			if sums(set) {
				found += "; the pod template has its checksum, so that each rendering restarts all pods"
			}
			fix := "have the values name a Secret of your own"
			if chart := database.ChartOf(set); chart.Secret != "" {
				fix += " (" + chart.Secret + " in the values of chart " + chart.Name + ")"
			}
			out = append(out, one(Warning, found, fix+". helm upgrade by itself keeps what is there; kubectl apply and GitOps do not")...)
		}
		return out
	})
}

// sums reports whether the pod template changes with a Secret.
func sums(set *appsv1.StatefulSet) bool {
	for key := range set.Spec.Template.Annotations {
		if strings.HasPrefix(key, "checksum/") && (strings.Contains(key, "secret") || strings.Contains(key, "credentials") || strings.Contains(key, "password")) {
			return true
		}
	}
	return false
}

// uses reports whether pods of a StatefulSet use a Secret.
func uses(set *appsv1.StatefulSet, secret string) bool {
	pod := &set.Spec.Template.Spec
	for _, v := range pod.Volumes {
		if v.Secret != nil && v.Secret.SecretName == secret {
			return true
		}
		if v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(p corev1.VolumeProjection) bool { return p.Secret != nil && p.Secret.Name == secret }) {
			return true
		}
	}
	return slices.ContainsFunc(slices.Concat(pod.InitContainers, pod.Containers), func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
			return e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.ValueFrom.SecretKeyRef.Name == secret
		}) || slices.ContainsFunc(c.EnvFrom, func(e corev1.EnvFromSource) bool { return e.SecretRef != nil && e.SecretRef.Name == secret })
	})
}
