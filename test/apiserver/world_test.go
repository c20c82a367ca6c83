package apiserver

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/deploy/manifests"
	"github.com/rollcall-dev/rollcall/test/tool"
)

const install = manifests.Namespace

// database is what a namespace has: a database under Rollcall, and things that are
// none of its business.
const database = `
apiVersion: v1
kind: Namespace
metadata: {name: NS}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: NS}
---
apiVersion: rollcall.dev/v1alpha1
kind: DatabaseCluster
metadata: {name: db, namespace: NS}
spec: {engine: Solr, guard: Enforce}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: db
  namespace: NS
  labels: {rollcall.dev/cluster: db}
spec:
  serviceName: db
  replicas: 1
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1000000}}
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: db}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: NS}
spec:
  serviceName: web
  replicas: 0
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
---
# It has left its database, with the partition that it had there.
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: left, namespace: NS, annotations: {rollcall.dev/partition: "1000000"}}
spec:
  serviceName: left
  replicas: 0
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1000000}}
  selector: {matchLabels: {app: left}}
  template:
    metadata: {labels: {app: left}}
    spec: {containers: [{name: left, image: left}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: NS, labels: {app: web}}
spec: {containers: [{name: web, image: web}]}
---
# Its StatefulSet is gone, without it.
apiVersion: v1
kind: Pod
metadata: {name: stray-0, namespace: NS, labels: {rollcall.dev/guard: audit, rollcall.dev/guard-cluster: gone}}
spec: {containers: [{name: db, image: db}]}
---
apiVersion: v1
kind: Secret
metadata: {name: password, namespace: NS}
type: Opaque
stringData: {password: secret}
---
apiVersion: v1
kind: Secret
metadata: {name: foreign-rollcall, namespace: NS}
type: Opaque
---
apiVersion: v1
kind: Secret
metadata: {name: db-rollcall, namespace: NS, labels: {app.kubernetes.io/part-of: rollcall, rollcall.dev/cluster: db}}
type: Opaque
---
apiVersion: v1
kind: Service
metadata: {name: db-rollcall, namespace: NS, labels: {app.kubernetes.io/part-of: rollcall, rollcall.dev/cluster: db}}
spec: {clusterIP: None, selector: {rollcall.dev/cluster: db}, ports: [{port: 7946}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NS}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: db-rollcall, namespace: NS, labels: {app.kubernetes.io/part-of: rollcall, rollcall.dev/cluster: db}}
spec: {minAvailable: 1000000, selector: {matchLabels: {rollcall.dev/guard: closed, rollcall.dev/guard-cluster: db}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: NS}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-db-0, namespace: NS}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// bindings are the bindings of people, as the documents say, in the namespace prod and in
// Rollcall's.
const bindings = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: editor, namespace: prod}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: viewer, namespace: prod}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: asker, namespace: prod}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: prod}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: editor, namespace: prod}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{kind: ServiceAccount, name: editor, namespace: prod}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: viewer, namespace: prod}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: viewer, namespace: prod}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: asker, namespace: rollcall-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: rollcall-asker}
subjects: [{kind: ServiceAccount, name: asker, namespace: prod}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: asker}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: rollcall-asker}
subjects: [{kind: ServiceAccount, name: asker, namespace: prod}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: rollcall-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: rollcall-reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: prod}]
`

// installed has Rollcall on a real API server, with the account of the hook, which a
// release has only while it is uninstalled.
func installed(t *testing.T) (*Server, *kubernetes.Clientset) {
	t.Helper()
	s := Start(t)
	admin, err := kubernetes.NewForConfig(s.Admin)
	require.NoError(t, err)
	eventually(t, "kube-system", func(ctx context.Context) error {
		_, err := admin.CoreV1().Namespaces().Get(ctx, "kube-system", metav1.GetOptions{})
		return err
	})
	// Where each controller has an account of its own there is this one.
	s.Apply("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: generic-garbage-collector, namespace: kube-system}\n")
	text, err := manifests.Install(manifests.Options{})
	require.NoError(t, err)
	s.Apply(text)
	s.Apply(hook(t))
	eventually(t, "the definition of DatabaseCluster", func(ctx context.Context) error {
		return admin.RESTClient().Get().AbsPath("/apis/rollcall.dev/v1alpha1/databaseclusters").Do(ctx).Error()
	})
	return s, admin
}

// hook is all of the hook but the Job.
func hook(t *testing.T) string {
	t.Helper()
	cmd := tool.Command(t.Context(), "../..", "helm", "template", "rollcall", "deploy/chart", "--namespace", install, "-s", "templates/guard-remove.yaml")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	require.NoError(t, err)
	var kept []string
	for _, document := range Documents(string(text)) {
		if !strings.Contains(document, "\nkind: Job\n") {
			kept = append(kept, document)
		}
	}
	require.Len(t, kept, 5)
	return strings.Join(kept, "\n---\n")
}

func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := check(t.Context())
		if err == nil {
			return
		}
		require.True(t, time.Now().Before(deadline), "%s: %v", what, err)
		time.Sleep(200 * time.Millisecond)
	}
}
