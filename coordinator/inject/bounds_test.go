package inject

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/test/race"
)

// of makes a review of a pod of a database with more in its metadata and its spec.
func of(meta, spec string) []byte {
	return fmt.Appendf(nil, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","namespace":"prod","operation":"CREATE",`+
		`"resource":{"version":"v1","resource":"pods"},"object":{"metadata":{"name":"a","labels":{"%s":"search"},`+
		`"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"a","uid":"x","controller":true}]%s},"spec":{%s}}}}`, v1alpha1.LabelCluster, meta, spec)
}

func list(name, element string, n int) string {
	return `"` + name + `":[` + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + `]`
}

func object(name, member string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `%q:{`, name)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, member, i)
	}
	return b.String() + "}"
}

const one = `"containers":[{"name":"a"}]`

// dense are reviews that take most memory for what they have, n being how often.
func dense(n int) map[string][]byte {
	nested := strings.Repeat("[", n) + strings.Repeat("]", n)
	return map[string][]byte{
		"containers":      of("", list("containers", `{}`, n)),
		"containers null": of("", list("containers", `null`, n)),
		"containers 1":    of("", list("containers", `1`, n)),
		"init folded":     of("", one+","+list("INITCONTAINERS", `{}`, n)),
		"full containers": of("", list("containers", `{"name":"a","lifecycle":{},"securityContext":{},"livenessProbe":{},"readinessProbe":{},"startupProbe":{},"ports":[{}],"env":[{}]}`, n)),
		"volumes":         of("", one+","+list("volumes", `{"csi":{},"rbd":{},"nfs":{}}`, n)),
		"volumes null":    of("", one+","+list("volumes", `null`, n)),
		"env":             of("", `"containers":[{"name":"a",`+list("env", `{}`, n)+`}]`),
		"env sources":     of("", `"containers":[{"name":"a",`+list("env", `{"valueFrom":{"fieldRef":{}}}`, n)+`}]`),
		"ports null":      of("", `"containers":[{"name":"a",`+list("ports", `null`, n)+`}]`),
		"limits":          of("", `"containers":[{"name":"a","resources":{`+object("limits", `"%d":1`, n)+`}}]`),
		"arguments":       of("", `"containers":[{"name":"a",`+list("args", `""`, n)+`}]`),
		"labels":          of(","+object("annotations", `"%d":""`, n), one),
		"escaped":         of(`,"annotations":{"a":"`+strings.Repeat("<", n)+`"}`, one),
		"quotes":          of(`,"annotations":{"a":"`+strings.Repeat(`\"`, n)+`"}`, one),
		"managed":         of(`,`+list("managedFields", `{"fieldsV1":{"a":{}}}`, n), one),
		"owners":          of(`,`+list("ownerReferences", `{}`, n), one),
		"unknown":         of("", one+`,`+list("a", `{"a":[]}`, n)),
		"unknown names":   of("", one+`,`+object("a", `"%d":0`, n)),
		"statuses":        []byte(strings.Replace(string(of("", one)), `"spec":`, `"status":{`+list("containerStatuses", `null`, n)+`},"spec":`, 1)),
		"conditions":      []byte(strings.Replace(string(of("", one)), `"spec":`, `"status":{`+list("conditions", `null`, n)+`},"spec":`, 1)),
		"addresses":       []byte(strings.Replace(string(of("", one)), `"spec":`, `"status":{`+list("podIPs", `null`, n)+`},"spec":`, 1)),
		"tolerations":     of("", one+","+list("tolerations", `0`, n)),
		"spread":          of("", one+","+list("topologySpreadConstraints", `0`, n)),
		"aliases":         of("", one+","+list("hostAliases", `0`, n)),
		"gates":           of("", one+","+list("readinessGates", `0`, n)),
		"claims":          of("", one+","+list("resourceClaims", `0`, n)),
		"pull secrets":    of("", one+","+list("imagePullSecrets", `0`, n)),
		"terms":           of("", one+`,"affinity":{"podAffinity":{`+list("preferredDuringSchedulingIgnoredDuringExecution", `0`, n)+`}}`),
		"node terms":      of("", one+`,"affinity":{"nodeAffinity":{`+list("preferredDuringSchedulingIgnoredDuringExecution", `{"preference":{"matchExpressions":[0]}}`, n)+`}}`),
		"mounts":          of("", `"containers":[{"name":"a",`+list("volumeMounts", `0`, n)+`}]`),
		"env from":        of("", `"containers":[{"name":"a",`+list("envFrom", `{"secretRef":{}}`, n)+`}]`),
		"resize":          of("", `"containers":[{"name":"a",`+list("resizePolicy", `0`, n)+`}]`),
		"headers":         of("", `"containers":[{"name":"a","livenessProbe":{"httpGet":{`+list("httpHeaders", `0`, n)+`}}}]`),
		"projected":       of("", one+`,"volumes":[{"projected":{`+list("sources", `{"secret":{"items":[0]}}`, n)+`}}]`),
		"attributes":      of("", one+`,"volumes":[{"csi":{`+object("volumeAttributes", `"%d":""`, n)+`}}]`),
		"selector":        of("", one+`,`+object("nodeSelector", `"%d":""`, n)),
		"numbers":         of("", one+`,`+list("a", `1`, n)),
		"nested":          of("", one+`,"a":`+nested),
		"requests":        []byte(`{` + strings.TrimSuffix(strings.Repeat(`"request":{"uid":"u"},`, n), ",") + `}`),
		"objects":         []byte(`{"request":{"uid":"u",` + strings.TrimSuffix(strings.Repeat(`"object":{"a":"a"},`, n), ",") + `}}`),
	}
}

// allocated is what is allocated while a review is answered: no more is live at any time.
func allocated(h *Webhook, body []byte) (int64, *httptest.ResponseRecorder) {
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, WebhookPath, bytes.NewReader(body))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	h.ServeHTTP(w, r)
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc), w
}

// mapsOf are the JSON names of all maps in a type.
func mapsOf(typ reflect.Type, seen map[reflect.Type]bool, found map[string]bool) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || seen[typ] {
		return
	}
	seen[typ] = true
	for field := range typ.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Type.Kind() == reflect.Map && name != "" {
			found[name] = true
			mapsOf(field.Type.Elem(), seen, found)
		}
		mapsOf(field.Type, seen, found)
	}
}

// What stands in a map of a pod has names that are anybody's, and takes more than what stands in a
// struct.
func TestEveryMapIsKnown(t *testing.T) {
	found := map[string]bool{}
	mapsOf(reflect.TypeFor[corev1.Pod](), map[reflect.Type]bool{}, found)
	require.ElementsMatch(t, slices.Collect(maps.Keys(found)), mapNames)
}

// No review takes more than was reckoned before it was decoded, and none more than one may,
// whatever is in it.
func TestWeightHolds(t *testing.T) {
	race.Heavy(t)
	h, _ := newWebhook(t, database(nil))
	allocated(h, of("", one)) // what is made once
	for _, n := range []int{1, 400, 2000, 9000, 20000, 100000, 300000} {
		for name, body := range dense(n) {
			took, w := allocated(h, body)
			seen, _ := lookAt(body)
			if testing.Verbose() {
				t.Logf("%.2f %6d %-16s %8d B: %9d allocated, weight %9d", float64(took)/float64(seen.weight()), n, name, len(body), took, seen.weight())
			}
			require.LessOrEqual(t, took, int64(maxWeight), name)
			require.NotEqual(t, http.StatusInternalServerError, w.Code)
			if len(body) <= maxReview && !race.Enabled { // the detector has pools forget
				require.LessOrEqual(t, took, int64(seen.weight()), "%d of %s", n, name)
			}
		}
	}
}
