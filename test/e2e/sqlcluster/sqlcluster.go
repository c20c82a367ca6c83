// Package sqlcluster is the MySQL and the MariaDB of the end-to-end tests: a
// chart's output that knows nothing of Rollcall, one primary with two replicas.
package sqlcluster

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/test/e2e/load"
	"github.com/rollcall-dev/rollcall/test/e2e/manifests"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlpod"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

const (
	// Namespace is the namespace of the manifests.
	Namespace = "demo"
	Port      = 3306
	// Mount is where the volume is, Data the server's files.
	Mount = "/data"
	Data  = Mount + "/db"
	// Servers is how many there are.
	Servers = 3
	// OldTag and NewTag hold the same server: a change from the one to the other is
	// an upgrade that changes nothing. BrokenTag ends as soon as it starts.
	OldTag, NewTag, BrokenTag = "1", "2", "2-broken"
)

// Flavor is the flavor of the server.
type Flavor struct {
	// Engine is its name in a DatabaseCluster.
	Engine string
	// Name is the name of the StatefulSet, of the DatabaseCluster, of the container and of the
	// image.
	Name string
	// Process is the server's program.
	Process string
}

// The flavors.
var (
	MySQL   = Flavor{"MySQL", "mysql", "mysqld"}
	MariaDB = Flavor{"MariaDB", "mariadb", "mariadbd"}
)

// Flavors in the order of their names.
var Flavors = []Flavor{MariaDB, MySQL}

// App is the login of clients. Witness may read a server's replication status, and Admin may do
// everything: the tests add these two to what each server is made with.
var (
	App     = sqlpod.Login{User: "app", Password: "app-password"}
	Witness = sqlpod.Login{User: "witness", Password: "witness"}
	Admin   = sqlpod.Login{User: "admin", Password: "admin", Answer: 20 * time.Second}
)

// lastGrant is the statement of the manifests behind which accounts are added.
const lastGrant = "GRANT ALL ON app.* TO 'app'@'%';\n"

// accounts returns the accounts of the tests.
func (f Flavor) accounts() string {
	see := "REPLICATION CLIENT"
	if f.Name == MariaDB.Name {
		see = "SLAVE MONITOR"
	}
	var b strings.Builder
	for _, line := range []string{
		fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY '%s';", Witness.User, Witness.Password), fmt.Sprintf("GRANT %s ON *.* TO '%s'@'%%';", see, Witness.User),
		fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY '%s';", Admin.User, Admin.Password), fmt.Sprintf("GRANT ALL ON *.* TO '%s'@'%%' WITH GRANT OPTION;", Admin.User),
	} {
		b.WriteString("      " + line + "\n")
	}
	return b.String()
}

// Cluster is a running MySQL or MariaDB.
type Cluster struct {
	Flavor
	Bed  *testbed.Bed
	Pods *testbed.Pods
}

// Labelled is a chart with the label in the StatefulSet and in its pod template.
func Labelled(set *appsv1.StatefulSet) {
	manifests.LabelAll(set, set.Name)
}

// RollingUpdate is Kubernetes' own way of updating, from the partition on.
func RollingUpdate(partition int32) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) {
		set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
			Type:          appsv1.RollingUpdateStatefulSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition},
		}
	}
}

// OnDelete leaves it to somebody else which pod goes when.
func OnDelete(set *appsv1.StatefulSet) {
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
}

// AtRest is where Rollcall lets the line of a StatefulSet rest that it rolls by the partition.
func AtRest(set *appsv1.StatefulSet) { RollingUpdate(model.FirstOrdinalNone)(set) }

// Tagged has another tag of the image.
func (f Flavor) Tagged(tag string) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) {
		for i := range set.Spec.Template.Spec.Containers {
			if c := &set.Spec.Template.Spec.Containers[i]; c.Name == f.Name {
				c.Image = f.image(tag)
			}
		}
		for i := range set.Spec.Template.Spec.InitContainers {
			set.Spec.Template.Spec.InitContainers[i].Image = f.image(OldTag)
		}
	}
}

func (f Flavor) image(tag string) string { return "docker.io/rollcall-test/" + f.Name + ":" + tag }

// Manifest is the database as a chart renders it, changed by edits.
func (f Flavor) Manifest(bed *testbed.Bed, edits ...func(*appsv1.StatefulSet)) (string, error) {
	manifest, err := os.ReadFile(bed.Path("test", "e2e", "manifests", f.Name+".yaml"))
	if err != nil {
		return "", err
	}
	if strings.Count(string(manifest), lastGrant) != 1 {
		return "", fmt.Errorf("%s.yaml does not say %q once", f.Name, lastGrant)
	}
	text := strings.Replace(string(manifest), lastGrant, lastGrant+f.accounts(), 1)
	return manifests.Edit(text, func(set *appsv1.StatefulSet) {
		for _, edit := range edits {
			edit(set)
		}
	}, f.Name)
}

// Start applies the manifest, changed by edits, and waits for nothing.
func Start(ctx context.Context, bed *testbed.Bed, f Flavor, edits ...func(*appsv1.StatefulSet)) (*Cluster, error) {
	if err := bed.RecycleVolumes(ctx); err != nil {
		return nil, err
	}
	text, err := f.Manifest(bed, edits...)
	if err != nil {
		return nil, err
	}
	if err := bed.Apply(ctx, text); err != nil {
		return nil, err
	}
	pods, err := bed.WatchPods(ctx, Namespace, "app="+f.Name, Port)
	return &Cluster{Flavor: f, Bed: bed, Pods: pods}, err
}

// Deploy starts it and waits until it serves. Agents choose the first primary;
// where there are none, the caller does by designate.
func Deploy(ctx context.Context, bed *testbed.Bed, f Flavor, edits ...func(*appsv1.StatefulSet)) (*Cluster, error) {
	c, err := Start(ctx, bed, f, edits...)
	if err != nil {
		return nil, err
	}
	return c, c.Ready(ctx)
}

// Ready waits until the database serves, and makes the table that clients use.
func (c *Cluster) Ready(ctx context.Context) error {
	if err := c.RolledOut(ctx, 8*time.Minute); err != nil {
		return err
	}
	return c.CreateTable(ctx)
}

// CreateTable makes the table that clients use, on the primary.
func (c *Cluster) CreateTable(ctx context.Context) error {
	return c.Bed.Eventually(ctx, "the table", time.Minute, func(ctx context.Context) error {
		primary, err := c.Primary(ctx)
		if err != nil {
			return err
		}
		return c.Exec(ctx, primary, load.Statements()...)
	})
}

// Delete removes the database with its data and waits until it is gone.
func (c *Cluster) Delete(ctx context.Context) error {
	_, err := c.Bed.Kubectl(ctx, "", "delete", "namespace", Namespace, "--wait=true", "--timeout=400s", "--ignore-not-found")
	return err
}

// StatefulSet as it is now.
func (c *Cluster) StatefulSet(ctx context.Context) (*appsv1.StatefulSet, error) {
	return c.Bed.Kube.AppsV1().StatefulSets(Namespace).Get(ctx, c.Name, metav1.GetOptions{})
}

// Patch changes the StatefulSet by a strategic merge patch.
func (c *Cluster) Patch(ctx context.Context, patch string) error {
	_, err := c.Bed.Kube.AppsV1().StatefulSets(Namespace).Patch(ctx, c.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "e2e"})
	return err
}

// Edit changes the StatefulSet by a function.
func (c *Cluster) Edit(ctx context.Context, edits ...func(*appsv1.StatefulSet)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		set, err := c.StatefulSet(ctx)
		if err != nil {
			return err
		}
		for _, edit := range edits {
			edit(set)
		}
		_, err = c.Bed.Kube.AppsV1().StatefulSets(Namespace).Update(ctx, set, metav1.UpdateOptions{FieldManager: "e2e"})
		return err
	})
}

// SetImage changes the tag of the server's image: an upgrade.
func (c *Cluster) SetImage(ctx context.Context, tag string) error {
	return c.Patch(ctx, fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":%q,"image":%q}]}}}}`, c.Name, c.image(tag)))
}

// Touch changes an annotation of the pod template: a change that only restarts.
func (c *Cluster) Touch(ctx context.Context, value string) error {
	return c.Patch(ctx, fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:%q}}}}}`, manifests.Changed, value))
}

// Updated waits until every pod is Ready on the update revision.
func (c *Cluster) Updated(ctx context.Context, limit time.Duration) error {
	return c.Bed.Eventually(ctx, "pods to be updated", limit, func(ctx context.Context) error {
		set, err := c.StatefulSet(ctx)
		if err != nil {
			return err
		}
		return c.Pods.Updated(set)
	})
}

// RolledOut waits until every pod is Ready on the update revision and the database is whole.
func (c *Cluster) RolledOut(ctx context.Context, limit time.Duration) error {
	if err := c.Updated(ctx, limit); err != nil {
		return err
	}
	return c.Whole(ctx, limit)
}

// Whole waits until one server can be written to, and the others follow it.
func (c *Cluster) Whole(ctx context.Context, limit time.Duration) error {
	return c.Bed.Eventually(ctx, "one primary that all others follow", limit, func(ctx context.Context) error {
		s := c.State(ctx)
		if !s.AllActive() {
			return errors.New(s.Missing())
		}
		return nil
	})
}

// State is a look at all servers.
func (c *Cluster) State(ctx context.Context) witness.State {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return witness.ReadServers(ctx, c.Servers(), Witness, Servers)
}

// Primary is the pod whose server can be written to; there is an error when that is not one.
func (c *Cluster) Primary(ctx context.Context) (string, error) {
	s := c.State(ctx)
	if s.Elected == "" {
		return "", fmt.Errorf("nobody can be written to: %s", s.Missing())
	}
	return s.Elected, nil
}

// Servers are all that have an address, in any state.
func (c *Cluster) Servers() []sqlpod.Server { return c.servers(func(*corev1.Pod) bool { return true }) }

// ReadyServers are those that a Service would send readers to.
func (c *Cluster) ReadyServers() []sqlpod.Server { return c.servers(testbed.Ready) }

func (c *Cluster) servers(which func(*corev1.Pod) bool) []sqlpod.Server {
	var out []sqlpod.Server
	for _, pod := range c.Pods.All() {
		if pod.Status.PodIP != "" && which(pod) {
			out = append(out, sqlpod.Server{Pod: pod.Name, UID: string(pod.UID), Address: sqlpod.Address(pod.Status.PodIP, Port)})
		}
	}
	return out
}

// Pod by its name, nil when there is none.
func (c *Cluster) Pod(name string) *corev1.Pod {
	for _, pod := range c.Pods.All() {
		if pod.Name == name {
			return pod
		}
	}
	return nil
}

// Admin is a connection to a pod's server, of somebody who may do everything.
func (c *Cluster) Admin(pod string) (*sql.DB, error) {
	for _, s := range c.Servers() {
		if s.Pod == pod {
			return sqlpod.Open(s.Address, Admin), nil
		}
	}
	return nil, fmt.Errorf("there is no server %s", pod)
}

// Exec runs statements on a pod's server, on one connection.
func (c *Cluster) Exec(ctx context.Context, pod string, statements ...string) error {
	db, err := c.Admin(pod)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %s: %w", pod, s, err)
		}
	}
	return nil
}

// Kill sends SIGKILL to a pod's server.
func (c *Cluster) Kill(pod string) error {
	p := c.Pod(pod)
	if p == nil {
		return fmt.Errorf("there is no pod %s", pod)
	}
	n, err := c.Bed.Kill(string(p.UID), c.Process)
	c.Bed.Logf("killed %d processes of %s in %s", n, c.Process, pod)
	return err
}
