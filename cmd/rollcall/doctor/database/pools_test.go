package database

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// TestWhichPodsKeepData checks that only nodes are said to keep nothing of which it can be seen.
func TestWhichPodsKeepData(t *testing.T) {
	file := configMap("config", map[string]string{"opensearch.yml": "cluster.name: logs\nnode:\n  roles: [ingest, remote_cluster_client]\n"})
	odd := configMap("config", map[string]string{"opensearch.yml": "node.roles: ${ROLES}\n"})
	none := configMap("config", map[string]string{"opensearch.yml": "node.roles: []\n", "log4j2.properties": ": ["})
	const mounted = `{containers: [{name: s, image: "opensearch:3"}], volumes: [{name: c, configMap: {name: config}}]}`
	for _, tt := range []struct {
		spec   string
		engine model.Engine
		config *corev1.ConfigMap
		why    string // what says that they keep none; empty means that they keep data
	}{
		{`{containers: [{name: s, image: "opensearch:3", env: [{name: node.roles, value: ""}]}]}`, model.OpenSearch, nil, "node.roles is empty"},
		{`{containers: [{name: s, image: "opensearch:3", env: [{name: node.roles, value: "ingest,ml,"}]}]}`, model.OpenSearch, nil, "node.roles is ingest, ml"},
		{`{containers: [{name: s, image: "opensearch:3", env: [{name: node.roles, value: "master,ingest,"}]}]}`, model.OpenSearch, nil, ""},
		{`{containers: [{name: s, image: "opensearch:3", env: [{name: node.roles, value: "cluster_manager"}]}]}`, model.OpenSearch, nil, ""},
		{`{containers: [{name: s, image: "opensearch:3", env: [{name: node.roles, value: "data_warm"}]}]}`, model.OpenSearch, nil, ""},
		{`{containers: [{name: s, image: "opensearch:3", env: [{name: node.roles, value: "$(ROLES)"}]}]}`, model.OpenSearch, nil, ""},
		{`{containers: [{name: s, image: "opensearch:3", env: [{name: node.roles, valueFrom: {secretKeyRef: {name: x, key: y}}}]}]}`, model.OpenSearch, nil, ""},
		{`{containers: [{name: s, image: "opensearch:3"}]}`, model.OpenSearch, nil, ""},
		{`{containers: [{name: s, image: "opensearch:3", command: [sh, -c, "exec ./opensearch-docker-entrypoint.sh opensearch -Enode.roles=[] -Ebootstrap.memory_lock=true"]}]}`, model.OpenSearch, nil, "node.roles is empty"},
		{`{containers: [{name: s, image: "opensearch:3", args: ["-Enode.roles=data,ingest"]}]}`, model.OpenSearch, nil, ""},
		{`{containers: [{name: s, image: "opensearch:3", env: [{name: OPENSEARCH_IS_DEDICATED_NODE, value: "yes"}, {name: OPENSEARCH_NODE_ROLES, value: ""}]}]}`, model.OpenSearch, nil, "node.roles is empty"},
		{`{containers: [{name: s, image: "opensearch:3", env: [{name: OPENSEARCH_NODE_ROLES, value: ""}]}]}`, model.OpenSearch, nil, ""},
		{mounted, model.OpenSearch, &file, "node.roles is ingest, remote_cluster_client"},
		{mounted, model.OpenSearch, &none, "node.roles is empty"},
		{mounted, model.OpenSearch, &odd, ""},
		{mounted, model.OpenSearch, nil, ""},
		{`{containers: [{name: s, image: "solr:9", env: [{name: SOLR_OPTS, value: "-Dfoo=1 -Dsolr.node.roles=coordinator:on,data:off -Dbar=2"}]}]}`, model.Solr, nil, "solr.node.roles says data:off"},
		{`{containers: [{name: s, image: "solr:9", args: ["-Dsolr.node.roles=data:off"]}]}`, model.Solr, nil, "solr.node.roles says data:off"},
		{`{containers: [{name: s, image: "solr:9", env: [{name: SOLR_NODE_ROLES, value: "coordinator:on,data:off"}]}]}`, model.Solr, nil, "solr.node.roles says data:off"},
		{`{containers: [{name: s, image: "solr:9", env: [{name: SOLR_OPTS, value: "-Dsolr.node.roles=data:on,overseer:preferred"}]}]}`, model.Solr, nil, ""},
		{`{containers: [{name: s, image: "mysql:9", env: [{name: node.roles, value: ""}]}]}`, model.MySQL, nil, ""},
	} {
		o := Objects{}
		if tt.config != nil {
			o.ConfigMaps = []corev1.ConfigMap{*tt.config}
		}
		keeps, why := KeepsData(pod(t, tt.spec), tt.engine, o)
		require.Equal(t, tt.why == "", keeps, tt.spec)
		require.Equal(t, tt.why, why, tt.spec)
	}
	require.True(t, first(KeepsData(pod(t, "containers: []"), model.OpenSearch, Objects{})))
}

func first(keeps bool, _ string) bool { return keeps }

// TestPoolsOfOneDatabase checks what joins StatefulSets that no label of Rollcall joins yet.
func TestPoolsOfOneDatabase(t *testing.T) {
	file := Objects{ConfigMaps: []corev1.ConfigMap{configMap("config", map[string]string{"opensearch.yml": "cluster.name: logs\n"})}}
	for _, tt := range []struct {
		a, b string
		o    Objects
		want bool
	}{
		{`containers: [{name: s, image: "opensearch:3", env: [{name: cluster.name, value: logs}]}]`, `containers: [{name: s, image: "opensearch:2", env: [{name: cluster.name, value: logs}]}]`, Objects{}, true},
		{`containers: [{name: s, image: "opensearch:3", env: [{name: cluster.name, value: logs}]}]`, `containers: [{name: s, image: "opensearch:3", env: [{name: cluster.name, value: search}]}]`, Objects{}, false},
		{`{containers: [{name: s, image: "opensearch:3"}], volumes: [{name: c, configMap: {name: config}}]}`, `containers: [{name: s, image: "opensearch:3", env: [{name: OPENSEARCH_CLUSTER_NAME, value: logs}]}]`, file, true},
		{`containers: [{name: s, image: "solr:9", env: [{name: ZK_HOST, value: "zk:2181"}]}]`, `containers: [{name: s, image: "solr:9", env: [{name: ZK_HOST, value: "zk:2181"}]}]`, Objects{}, true},
		{`containers: [{name: s, image: "solr:9", env: [{name: ZK_HOST, value: "zk:2181/a"}]}]`, `containers: [{name: s, image: "solr:9", env: [{name: ZK_HOST, value: "zk:2181/b"}]}]`, Objects{}, false},
		{`containers: [{name: s, image: "solr:9"}]`, `containers: [{name: s, image: "solr:9"}]`, Objects{}, false},
		{`containers: [{name: s, image: "opensearch:3", env: [{name: discovery.seed_hosts, value: "db-0,db-1"}]}]`, `containers: [{name: s, image: "opensearch:3"}]`, Objects{}, false},
		{`containers: [{name: s, image: "opensearch:3", env: [{name: discovery.seed_hosts, value: "a,db:9300"}]}]`, `containers: [{name: s, image: "opensearch:3"}]`, Objects{}, true},
		{`containers: [{name: s, image: "mariadb:11", args: ["--wsrep-cluster-address=gcomm://db.prod.svc:4567,b?pc.wait_prim=no"]}]`, `containers: [{name: s, image: "mariadb:11"}]`, Objects{}, true},
		{`containers: [{name: s, image: "solr:9", env: [{name: ZK_HOST, value: logs}]}]`, `containers: [{name: s, image: "opensearch:3", env: [{name: cluster.name, value: logs}]}]`, Objects{}, false},
	} {
		require.Equal(t, tt.want, Related(pod(t, tt.a), pod(t, tt.b), tt.o), tt.a)
	}
}

// FuzzNodeSettings checks that no text of a pod or a file makes it fail.
func FuzzNodeSettings(f *testing.F) {
	f.Add("node: {roles: [data, 3, null]}\ndiscovery.seed_hosts: [a, {b: c}]\n", "-Enode.roles=[data] -Dsolr.node.roles=data:off")
	f.Add("node.roles: []\ncluster.name: 7\n", "master,ingest,")
	f.Add("node: &a [*a]\n", "gcomm://")
	f.Fuzz(func(t *testing.T, file, text string) {
		set := &appsv1.StatefulSet{}
		c := corev1.Container{Image: "opensearch:3", Args: []string{text}, Env: []corev1.EnvVar{{Name: "discovery.seed_hosts", Value: text}, {Name: "SOLR_OPTS", Value: text}}}
		set.Spec.Template.Spec = corev1.PodSpec{Containers: []corev1.Container{c}, Volumes: []corev1.Volume{{Name: "c", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "config"}}}}}}
		o := Objects{ConfigMaps: []corev1.ConfigMap{configMap("config", map[string]string{"opensearch.yml": file})}}
		for _, engine := range []model.Engine{model.Solr, model.OpenSearch} {
			if keeps, why := KeepsData(set, engine, o); !keeps && why == "" {
				t.Errorf("nothing says why")
			}
		}
		Related(set, set, o)
	})
}
