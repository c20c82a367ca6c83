// Package sqlchart is MySQL and MariaDB in the shapes in which public charts install them, each with
// the Service that its clients write to. It knows nothing of Rollcall.
package sqlchart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/test/e2e/load"
	"github.com/rollcall-dev/rollcall/test/e2e/manifests"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlpod"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

const (
	// Namespace is the namespace of the manifests.
	Namespace = "demo"
	port      = 3306
	// node is where clients of the Services run.
	node = "node1"
)

// Chart is one of them.
type Chart struct {
	// Name is the name of the file, of the label app of its pods, and of the release.
	Name string
	// Image is the image that its servers run, and Process their program.
	Image, Process string
	// Sets are its StatefulSets. The first has the server to which clients write at first.
	Sets []string
	// Service is the name of the Service that clients write to.
	Service string
	// Servers is how many it has.
	Servers int
	// Replication is how the servers replicate.
	Replication Replication
}

// Replication is how the servers of a chart replicate.
type Replication int

// The ways.
const (
	// None is the way of one server alone.
	None Replication = iota
	// FromSource means that replicas follow one server.
	FromSource
	// GroupMembers elect the one of them that takes writes.
	GroupMembers
	// GaleraMembers all take writes.
	GaleraMembers
)

// The charts.
var (
	// Switchable has three servers in one StatefulSet, any of which may lead.
	Switchable = Chart{Name: "mariadb-switchable", Image: "mariadb", Process: "mariadbd", Sets: []string{"orders"}, Service: "orders", Servers: 3, Replication: FromSource}
	// Fixed has its primary in a StatefulSet of its own, and replicas in another one, without GTIDs.
	Fixed = Chart{Name: "mariadb-fixed", Image: "mariadb", Process: "mariadbd", Sets: []string{"db-primary", "db-replica"}, Service: "db-primary", Servers: 3, Replication: FromSource}
	// Galera has three members that all take writes.
	Galera = Chart{Name: "mariadb-galera", Image: "mariadb", Process: "mariadbd", Sets: []string{"galera"}, Service: "galera-writes", Servers: 3, Replication: GaleraMembers}
	// Group is group replication with one primary.
	Group = Chart{Name: "mysql-group", Image: "mysql", Process: "mysqld", Sets: []string{"group"}, Service: "group-writes", Servers: 3, Replication: GroupMembers}
	// Single is one server that nobody follows.
	Single = Chart{Name: "mysql-single", Image: "mysql", Process: "mysqld", Sets: []string{"blog"}, Service: "blog", Servers: 1}
)

// App is the login of clients, Admin that of somebody who may do everything.
var (
	App   = sqlpod.Login{User: "app", Password: "app-password", Answer: 3 * time.Second}
	Admin = sqlpod.Login{User: "admin", Password: "admin-password", Answer: 20 * time.Second}
)

// Cluster is a chart that runs.
type Cluster struct {
	Chart
	Bed  *testbed.Bed
	Pods *testbed.Pods
}

// Start applies the chart and waits until all its servers are Ready and have the clients' table.
func Start(ctx context.Context, bed *testbed.Bed, chart Chart) (*Cluster, error) {
	if err := bed.RecycleVolumes(ctx); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(bed.Path("test", "e2e", "manifests", chart.Name+".yaml"))
	if err != nil {
		return nil, err
	}
	if err := bed.Apply(ctx, string(text)); err != nil {
		return nil, err
	}
	pods, err := bed.WatchPods(ctx, Namespace, "app="+chart.Name, port)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Chart: chart, Bed: bed, Pods: pods}
	if err := c.Updated(ctx, 4*time.Minute); err != nil {
		return c, err
	}
	return c, c.createTable(ctx)
}

// createTable makes the table that clients use, through the Service, and waits until all have it.
func (c *Cluster) createTable(ctx context.Context) error {
	return c.Bed.Eventually(ctx, "the table", 2*time.Minute, func(ctx context.Context) error {
		if err := c.Exec(ctx, c.Sets[0]+"-0", load.Statements()...); err != nil {
			return err
		}
		return c.each(func(s sqlpod.Server) error {
			db := sqlpod.Open(s.Address, Admin)
			defer func() { _ = db.Close() }()
			_, err := db.ExecContext(ctx, "SELECT 1 FROM "+load.Schema+"."+load.Table+" LIMIT 1")
			return err
		})
	})
}

// Exec runs statements on a pod's server, as an administrator.
func (c *Cluster) Exec(ctx context.Context, pod string, statements ...string) error {
	server, err := c.Server(pod)
	if err != nil {
		return err
	}
	db := sqlpod.Open(server.Address, Admin)
	defer func() { _ = db.Close() }()
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", pod, err)
		}
	}
	return nil
}

func (c *Cluster) each(f func(sqlpod.Server) error) error {
	servers := c.All()
	if len(servers) < c.Servers {
		return fmt.Errorf("%d of %d servers have an address", len(servers), c.Servers)
	}
	var errs []error
	for _, s := range servers {
		if err := f(s); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Pod, err))
		}
	}
	return errors.Join(errs...)
}

// Delete removes the database with its data and waits until it is gone.
func (c *Cluster) Delete(ctx context.Context) error {
	_, err := c.Bed.Kubectl(ctx, "", "delete", "namespace", Namespace, "--wait=true", "--timeout=400s", "--ignore-not-found")
	return err
}

// Edit patches each StatefulSet by a strategic merge patch.
func (c *Cluster) Edit(ctx context.Context, patch string) error {
	for _, set := range c.Sets {
		if err := c.EditSet(ctx, set, patch); err != nil {
			return err
		}
	}
	return nil
}

// EditSet patches one StatefulSet.
func (c *Cluster) EditSet(ctx context.Context, set, patch string) error {
	_, err := c.Bed.Kube.AppsV1().StatefulSets(Namespace).Patch(ctx, set, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "e2e"})
	return err
}

// Touch changes an annotation of the pod templates: a change that only restarts.
func (c *Cluster) Touch(ctx context.Context, value string) error { return c.Edit(ctx, touch(value)) }

// TouchSet does that to one StatefulSet.
func (c *Cluster) TouchSet(ctx context.Context, set, value string) error {
	return c.EditSet(ctx, set, touch(value))
}

func touch(value string) string {
	return fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:%q}}}}}`, manifests.Changed, value)
}

// Updated waits until every pod of every StatefulSet is Ready on its update revision.
func (c *Cluster) Updated(ctx context.Context, limit time.Duration) error {
	return c.Bed.Eventually(ctx, "pods to be updated", limit, func(ctx context.Context) error {
		for _, name := range c.Sets {
			set, err := c.Bed.Kube.AppsV1().StatefulSets(Namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if err := c.updated(set); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *Cluster) updated(set *appsv1.StatefulSet) error {
	if set.Status.ObservedGeneration < set.Generation {
		return fmt.Errorf("%s has not been looked at", set.Name)
	}
	ready := 0
	for _, pod := range c.Pods.All() {
		if !metav1.IsControlledBy(pod, set) {
			continue
		}
		if pod.DeletionTimestamp == nil && pod.Labels[appsv1.ControllerRevisionHashLabelKey] == set.Status.UpdateRevision && testbed.Ready(pod) {
			ready++
		}
	}
	if want := int(*set.Spec.Replicas); ready < want {
		return fmt.Errorf("%s: %d of %d pods are updated and Ready", set.Name, ready, want)
	}
	return nil
}

// All are the servers that have an address, in any state.
func (c *Cluster) All() []sqlpod.Server { return c.servers(func(*corev1.Pod) bool { return true }) }

// ReadyServers are those that a Service would send readers to.
func (c *Cluster) ReadyServers() []sqlpod.Server { return c.servers(testbed.Ready) }

func (c *Cluster) servers(which func(*corev1.Pod) bool) []sqlpod.Server {
	var out []sqlpod.Server
	for _, pod := range c.Pods.All() {
		if pod.Status.PodIP != "" && which(pod) {
			out = append(out, sqlpod.Server{Pod: pod.Name, UID: string(pod.UID), Address: sqlpod.Address(pod.Status.PodIP, port)})
		}
	}
	return out
}

// Server is the server of a pod.
func (c *Cluster) Server(pod string) (sqlpod.Server, error) {
	for _, s := range c.All() {
		if s.Pod == pod {
			return s, nil
		}
	}
	return sqlpod.Server{}, fmt.Errorf("there is no server %s", pod)
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

// Writers are clients that write through the chart's own Service, each for so long before a write
// counts as failed.
func (c *Cluster) Writers(ctx context.Context, patience time.Duration) (*load.Rows, error) {
	service, err := c.Bed.Kube.CoreV1().Services(Namespace).Get(ctx, c.Service, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return load.NewRows(load.RowOptions{
		Servers: c.All, Ready: c.ReadyServers, Login: App, Patience: patience, Pause: 100 * time.Millisecond, WritesOnly: c.Servers == 1,
		Service: sqlpod.Address(service.Spec.ClusterIP, port), Dial: c.Bed.Inside(node),
	})
}
