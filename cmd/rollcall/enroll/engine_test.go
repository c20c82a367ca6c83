package enroll

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func TestImagesSayTheEngine(t *testing.T) {
	for image, want := range map[string]model.Engine{
		"solr":                               model.Solr,
		"solr:9.10":                          model.Solr,
		"docker.io/library/solr:9.10":        model.Solr,
		"opensearchproject/opensearch:3.8.0": model.OpenSearch,
		"registry.example:5000/team/Bitnami-MySQL@sha256:0123": model.MySQL,
		"percona/percona-xtradb-mysql:8.4":                     model.MySQL,
		"localhost/mariadb":                                    model.MariaDB,
		"foundationdb/foundationdb:7.3.63":                     model.FoundationDB,
		"mysql.example.com/mariadb:11":                         model.MariaDB, // a registry says nothing
		"postgres:17-mysql":                                    "",            // nor does a tag
		"mysql/mariadb":                                        model.MariaDB, // nor who publishes it
		"example.com/search:1":                                 "",
		"":                                                     "",
	} {
		got, said, err := engineOf([]appsv1.StatefulSet{*set("db", image)})
		if want == "" {
			require.ErrorContains(t, err, fmt.Sprintf("the image %s of container db in StatefulSet db does not say which database it is: set --engine to one of Solr, OpenSearch, MySQL, MariaDB, Galera, ZooKeeper, FoundationDB", image))
			continue
		}
		require.NoError(t, err, image)
		require.Equal(t, want, got, image)
		require.Equal(t, image, said)
	}
}

func TestImagesOfSeveralStatefulSets(t *testing.T) {
	_, _, err := engineOf([]appsv1.StatefulSet{*set("a", "opensearch:3"), *set("b", "opensearch:2")})
	require.NoError(t, err)
	_, _, err = engineOf([]appsv1.StatefulSet{*set("a", "solr:9"), *set("b", "mysql:9")})
	require.ErrorContains(t, err, "the image solr:9 of StatefulSet a is of Solr, and mysql:9 of b: set --engine")
	sidecar := set("a", "envoy:1")
	sidecar.Spec.Template.Spec.Containers = append(sidecar.Spec.Template.Spec.Containers, corev1.Container{Name: "main", Image: "solr:9"})
	sidecar.Spec.Template.Annotations = map[string]string{v1alpha1.AnnotationContainer: "main"}
	got, _, err := engineOf([]appsv1.StatefulSet{*sidecar})
	require.NoError(t, err)
	require.Equal(t, model.Solr, got, "of the container that is the database's")
	sidecar.Spec.Template.Spec.Containers = nil
	_, _, err = engineOf([]appsv1.StatefulSet{*sidecar})
	require.ErrorContains(t, err, "StatefulSet a has no container")
}

// TestPortsOfAnotherDatabase: what the image names is not taken where the ports contradict it.
func TestPortsOfAnotherDatabase(t *testing.T) {
	of := func(image string, port int32) (model.Engine, error) {
		s := set("db", image)
		s.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: port}}
		engine, _, err := engineOf([]appsv1.StatefulSet{*s})
		return engine, err
	}
	_, err := of("mysql:9", 9200)
	require.ErrorContains(t, err, "the image mysql:9 of container db in StatefulSet db is of MySQL, and its ports are those of another database: set --engine to one of Solr")
	engine, err := of("solr:9", 2181)
	require.NoError(t, err)
	require.Equal(t, model.ZooKeeper, engine)
}

func TestEnginesByName(t *testing.T) {
	for _, e := range Engines {
		got, err := ParseEngine(string(e))
		require.NoError(t, err)
		require.Equal(t, e, got)
	}
	got, err := ParseEngine("mariadb")
	require.NoError(t, err)
	require.Equal(t, model.MariaDB, got)
	_, err = ParseEngine("postgres")
	require.EqualError(t, err, `--engine is "postgres": must be one of Solr, OpenSearch, MySQL, MariaDB, Galera, ZooKeeper, FoundationDB`)
}

// TestEnsemblesAreEnrolled checks what is written for manifests of ZooKeeper: the engine, one server at
// a time, and no credentials, as what agents ask every client may ask.
func TestEnsemblesAreEnrolled(t *testing.T) {
	for name, set := range map[string]string{"variables": "keeper", "official": "zk"} {
		f := charted(t, "../zookeeper/"+name)
		p, err := Decide(f, options(set))
		require.NoError(t, err, name)
		require.Equal(t, model.ZooKeeper, p.Cluster.Spec.Engine, name)
		require.Equal(t, model.Count(1), *p.Cluster.Spec.Policy.MaxUnavailable, name)
		require.Empty(t, p.Cluster.Spec.Connection, name)
		require.Empty(t, p.Topology, name)
	}
}
