package security

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// FuzzSettings reads files that people write into ConfigMaps: each answer has a reason, and nothing
// panics.
func FuzzSettings(f *testing.F) {
	f.Add("plugins: {security: {ssl: {http: {enabled: true}}}}", `{"authentication": {}}`, "SOLR_SSL_ENABLED=true")
	f.Add("plugins.security.disabled: true", "{", "export SOLR_AUTH_TYPE='basic'\n# SOLR_SSL_ENABLED=\"")
	f.Fuzz(func(t *testing.T, yml, json, sh string) {
		set := &appsv1.StatefulSet{}
		volume := corev1.Volume{Name: "v"}
		volume.ConfigMap = &corev1.ConfigMapVolumeSource{}
		volume.ConfigMap.Name = "files"
		set.Spec.Template.Spec = corev1.PodSpec{Volumes: []corev1.Volume{volume}, Containers: []corev1.Container{{Name: "db", Image: "x"}}}
		o := database.Objects{ConfigMaps: []corev1.ConfigMap{{Data: map[string]string{"opensearch.yml": yml, "security.json": json, "solr.in.sh": sh}}}}
		o.ConfigMaps[0].Name = "files"
		for _, engine := range []model.Engine{model.OpenSearch, model.Solr} {
			p, known := Of(engine, set, o)
			if !known || p.TLS.Why == "" || p.Login.Why == "" || p.Client.Why == "" {
				t.Fatalf("%+v", p)
			}
		}
	})
}
