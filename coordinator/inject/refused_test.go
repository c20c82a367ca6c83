package inject

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rollcall-dev/rollcall/test/race"
)

// largePod is far above what runs: 300 containers, each with what a container mostly has.
func largePod(t *testing.T) *corev1.Pod {
	pod := readPod(t, "testdata/pod/plain.in.yaml")
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(80)}}, PeriodSeconds: 10}
	size := corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")}
	pod.Spec.Containers = nil
	for i := range 300 {
		c := corev1.Container{Name: fmt.Sprintf("container-%d", i), Image: "registry.example.com/team/image@sha256:" + strings.Repeat("0", 64),
			LivenessProbe: probe, ReadinessProbe: probe, StartupProbe: probe, Command: []string{"/bin/sh", "-c", "exec server"},
			Resources:       corev1.ResourceRequirements{Limits: size, Requests: size},
			SecurityContext: &corev1.SecurityContext{RunAsNonRoot: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}}
		for n := range 10 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("NAME_%d", n), Value: "a value of this variable"})
		}
		for n := range 6 {
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: fmt.Sprintf("volume-%d", n), MountPath: fmt.Sprintf("/var/lib/%d", n)})
		}
		for n := range 3 {
			c.Ports = append(c.Ports, corev1.ContainerPort{ContainerPort: int32(9000 + n), Protocol: corev1.ProtocolTCP})
		}
		pod.Spec.Containers = append(pod.Spec.Containers, c)
	}
	fields, err := json.Marshal(map[string]any{"f:spec": map[string]any{"f:containers": strings.Repeat("x", 100<<10)}})
	require.NoError(t, err)
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kube-controller-manager", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(fields))}}
	return pod
}

// No bound is near to what runs.
func TestLargePodGetsItsAgent(t *testing.T) {
	h, _ := newWebhook(t)
	pod := largePod(t)
	sent := review(t, pod)
	response, got := ask(t, h, sent)
	require.Empty(t, response.Warnings)
	require.Len(t, got.Spec.InitContainers, len(pod.Spec.InitContainers)+1)
	require.Equal(t, pod.ManagedFields, got.ManagedFields)
	body, err := json.Marshal(sent)
	require.NoError(t, err)
	seen, err := lookAt(body)
	require.NoError(t, err)
	t.Logf("%d B, weight %d of %d", len(body), seen.weight(), maxWeight)
}

// say sends a body, and answers what comes back.
func say(t *testing.T, h *Webhook, from string, body io.Reader) (int, *admissionv1.AdmissionResponse) {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, WebhookPath, body)
	r.RemoteAddr = from + ":1"
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return w.Code, nil
	}
	var answer admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
	require.Equal(t, "AdmissionReview", answer.Kind)
	require.EqualValues(t, "u", answer.Response.UID)
	require.True(t, answer.Response.Allowed)
	return w.Code, answer.Response
}

// What is too much is let through as it is, with a warning, counted, and logged once.
func TestUnreadIsLetThrough(t *testing.T) {
	for reason, body := range map[string][]byte{
		refusedSize:  append(of("", one), bytes.Repeat([]byte(" "), maxReview)...),
		refusedShape: of("", list("containers", "{}", 300_000)),
	} {
		t.Run(reason, func(t *testing.T) {
			h, _ := newWebhook(t)
			var log strings.Builder
			h.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
			for range 3 {
				for _, from := range []io.Reader{bytes.NewReader(body), io.MultiReader(bytes.NewReader(body))} { // of known length and not
					_, response := say(t, h, "192.0.2.1", from)
					require.Nil(t, response.Patch)
					require.Contains(t, strings.Join(response.Warnings, ""), "not looked at ("+reason+")")
				}
			}
			require.EqualValues(t, 6, testutil.ToFloat64(h.refused.WithLabelValues(reason)))
			require.Equal(t, 1, strings.Count(log.String(), "without a look"))
		})
	}
}

// slow is a body that does not end.
type slow struct {
	io.Reader
	until chan struct{}
}

func (s slow) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if n == 0 {
		<-s.until
	}
	return n, err
}

// Whoever lets reviews wait, of all bytes that one address may have, keeps none of another address
// waiting.
func TestStrangerHoldsHisShareOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := newWebhook(t)
		until := make(chan struct{})
		more := of("", `"hostname":"`+strings.Repeat("a", headBytes)+`",`+one)
		for range 10 {
			go func() {
				w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, WebhookPath, slow{bytes.NewReader(more), until})
				r.RemoteAddr = "192.0.2.66:1"
				r.ContentLength = maxReview
				h.ServeHTTP(w, r)
			}()
		}
		synctest.Wait()
		_, response := say(t, h, "192.0.2.1", bytes.NewReader(of("", one)))
		require.NotNil(t, response.Patch, "an agent")
		began := time.Now()
		_, response = say(t, h, "192.0.2.66", bytes.NewReader(more))
		require.Contains(t, strings.Join(response.Warnings, ""), "not looked at (busy)")
		require.Equal(t, roomWait, time.Since(began))
		close(until)
		synctest.Wait()
		require.Empty(t, h.budget.peers, "nothing is kept of who has gone")
		_, response = say(t, h, "192.0.2.66", bytes.NewReader(of("", one)))
		require.NotNil(t, response.Patch)
	})
}

// No more at a time than there are turns, nor than may weigh.
func TestDecodingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := newWebhook(t)
		var held []func()
		for h.budget.turns.TryAcquire(1) {
			held = append(held, func() { h.budget.turns.Release(1) })
		}
		require.LessOrEqual(t, len(held), maxTurns)
		_, response := say(t, h, "192.0.2.1", bytes.NewReader(of("", one)))
		require.Contains(t, strings.Join(response.Warnings, ""), "not looked at (busy)")
		for _, release := range held {
			release()
		}
		done := h.budget.work(t.Context(), maxWeight)
		_, response = say(t, h, "192.0.2.1", bytes.NewReader(of("", one)))
		require.Contains(t, strings.Join(response.Warnings, ""), "not looked at (busy)")
		done()
		_, response = say(t, h, "192.0.2.1", bytes.NewReader(of("", one)))
		require.NotNil(t, response.Patch)
	})
}

// What json.Unmarshal takes for a pod of ours, in whatever spelling, is decoded.
func TestLookMissesNothing(t *testing.T) {
	h, _ := newWebhook(t)
	plain := string(of("", one))
	for name, body := range map[string]string{
		"as it is":       plain,
		"upper case":     strings.NewReplacer(`"request"`, `"REQUEST"`, `"uid":"u"`, `"UID":"u"`, `"labels"`, `"Labels"`, `"ownerReferences"`, `"OWNERREFERENCES"`, `"kind":"S`, `"Kind":"S`).Replace(plain),
		"escaped":        strings.NewReplacer(`"metadata"`, `"met\u0061data"`, `rollcall.dev/cluster`, `rollc\u0061ll.dev/cluster`, `"StatefulSet"`, `"\u0053tatefulSet"`).Replace(plain),
		"long s":         strings.Replace(plain, `"request"`, `"requeſt"`, 1),
		"twice":          strings.Replace(plain, `"object":`, `"object":{"metadata":null},"object":`, 1),
		"large numbers":  strings.Replace(plain, `"spec":`, `"a":1e999,"spec":`, 1),
		"spaces":         strings.ReplaceAll(plain, `,`, " ,\n\t"),
		"another behind": strings.Replace(plain, `"labels":`, `"labels":{"a":"b"},"labels":`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			code, response := say(t, h, "192.0.2.1", strings.NewReader(body))
			require.Equal(t, http.StatusOK, code)
			require.NotNil(t, response.Patch)
		})
	}
	for name, body := range map[string]string{
		"no label": strings.Replace(plain, `"search"`, `""`, 1), "no owner": strings.Replace(plain, "StatefulSet", "ReplicaSet", 1),
	} {
		t.Run(name, func(t *testing.T) {
			_, response := say(t, h, "192.0.2.1", strings.NewReader(body))
			require.Nil(t, response.Patch)
			require.Empty(t, response.Warnings)
		})
	}
	code, _ := say(t, h, "192.0.2.1", strings.NewReader(plain+plain))
	require.Equal(t, http.StatusBadRequest, code)
}

// TestLogIsBounded, however many pods are made up, and whatever they are called.
func TestLogIsBounded(t *testing.T) {
	race.Heavy(t)
	synctest.Test(t, func(t *testing.T) {
		h, _ := newWebhook(t)
		var log strings.Builder
		h.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		body := of("", `"os":{"name":"windows"},`+one)
		body = bytes.Replace(body, []byte(`"name":"a","labels"`), []byte(`"name":"`+strings.Repeat("a", 100_000)+`","labels"`), 1)
		for range 200 {
			_, response := say(t, h, "192.0.2.1", bytes.NewReader(body))
			require.NotNil(t, response.Patch, "the pod itself says why")
		}
		require.LessOrEqual(t, strings.Count(log.String(), "\n"), 60)
		require.Less(t, log.Len(), 100_000)
	})
}
