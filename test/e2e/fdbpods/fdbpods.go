// Package fdbpods is a real FoundationDB in pods, made from the programs of a folder: three classes in three zones, as a
// chart would render them. What it says of the database comes from the database's own fdbcli and from Kubernetes, never
// from Rollcall.
package fdbpods

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/test/e2e/manifests"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

const (
	// Namespace is the namespace of manifests/foundationdb-real.yaml, Name the name of its DatabaseCluster.
	Namespace = "demo"
	Name      = "fdb"
	// Zone is the label of a pod that names its zone.
	Zone = "topology.kubernetes.io/zone"

	container = "foundationdb"
	port      = 4500
)

// classes have a StatefulSet each.
var classes = []string{"storage", "log", "stateless"}

// Cluster is a running FoundationDB.
type Cluster struct {
	Bed  *testbed.Bed
	Pods *testbed.Pods
	end  context.CancelFunc
}

func nameOf(class string) string { return "fdb-" + class }

func withoutVolume(spec *appsv1.StatefulSetSpec) {
	spec.VolumeClaimTemplates = nil
	pod := &spec.Template.Spec
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
}

// Deploy applies the manifest, makes a database with all data twice, and waits until it is whole.
func Deploy(ctx context.Context, bed *testbed.Bed) (*Cluster, error) {
	if err := bed.RecycleVolumes(ctx); err != nil {
		return nil, err
	}
	file, err := os.ReadFile(bed.Path("test", "e2e", "manifests", "foundationdb-real.yaml"))
	if err != nil {
		return nil, err
	}
	for _, class := range classes {
		text, err := manifests.Edit(strings.ReplaceAll(string(file), "CLASS", class), func(set *appsv1.StatefulSet) {
			manifests.LabelAll(set, Name)
			if class == "stateless" {
				withoutVolume(&set.Spec)
			}
		}, nameOf(class))
		if err != nil {
			return nil, err
		}
		if err := bed.Apply(ctx, text); err != nil {
			return nil, err
		}
	}
	watch, end := context.WithCancel(context.WithoutCancel(ctx))
	c := &Cluster{Bed: bed, end: end}
	if c.Pods, err = bed.WatchPods(watch, Namespace, "app="+Name, port); err != nil {
		return nil, errors.Join(err, c.forget())
	}
	if err := bed.Eventually(ctx, "a new database", 5*time.Minute, c.configure); err != nil {
		return nil, errors.Join(err, c.forget())
	}
	return c, c.Whole(ctx, 5*time.Minute)
}

func (c *Cluster) forget() error { c.end(); return nil }

// Delete removes the FoundationDB with its data and waits until it is gone.
func (c *Cluster) Delete(ctx context.Context) error {
	_, err := c.Bed.Kubectl(ctx, "", "delete", "namespace", Namespace, "--wait=true", "--timeout=400s", "--ignore-not-found")
	return errors.Join(err, c.forget())
}

func (c *Cluster) configure(ctx context.Context) error {
	if n := len(c.Pods.URLs()); n < 9 {
		return fmt.Errorf("%d of 9 pods are Ready", n)
	}
	said, err := c.CLI(ctx, "configure new double ssd")
	if strings.Contains(said, "Database created") || strings.Contains(said, "Database already exists") {
		return nil
	}
	return errors.Join(errors.New(strings.TrimSpace(said)), err)
}

// CLI runs commands of fdbcli in a pod that is Ready.
func (c *Cluster) CLI(ctx context.Context, commands string) (string, error) {
	for _, pod := range c.Pods.All() {
		if testbed.Ready(pod) && pod.DeletionTimestamp == nil {
			return c.Bed.Kubectl(ctx, "", "exec", pod.Name, "-n", Namespace, "-c", container, "--",
				"fdbcli", "-C", "/var/fdb/fdb.cluster", "--timeout", "10", "--exec", commands)
		}
	}
	return "", errors.New("no pod is Ready")
}

// Status is what a test wants to know of the database's own status document.
type Status struct {
	Client struct {
		Database struct {
			Available bool `json:"available"`
		} `json:"database_status"`
		Coordinators struct {
			Coordinators []struct {
				Address   string `json:"address"`
				Reachable bool   `json:"reachable"`
			} `json:"coordinators"`
		} `json:"coordinators"`
	} `json:"client"`
	Cluster struct {
		Connection  string `json:"connection_string"`
		Maintenance string `json:"maintenance_zone"`
		Data        struct {
			State struct {
				Name     string `json:"name"`
				Healthy  bool   `json:"healthy"`
				Replicas int    `json:"min_replicas_remaining"`
			} `json:"state"`
		} `json:"data"`
		Tolerance struct {
			Zones int `json:"max_zone_failures_without_losing_data"`
		} `json:"fault_tolerance"`
		Configuration struct {
			Excluded []json.RawMessage `json:"excluded_servers"`
		} `json:"configuration"`
		Processes map[string]struct {
			Locality struct {
				Instance string `json:"instance_id"`
			} `json:"locality"`
		} `json:"processes"`
	} `json:"cluster"`
}

// Status asks for the status document.
func (c *Cluster) Status(ctx context.Context) (Status, error) {
	var s Status
	said, err := c.CLI(ctx, "status json")
	if err != nil {
		return s, err
	}
	begin := strings.IndexByte(said, '{')
	if begin < 0 {
		return s, fmt.Errorf("no status document: %s", strings.TrimSpace(said))
	}
	return s, json.NewDecoder(strings.NewReader(said[begin:])).Decode(&s)
}

// Whole waits until every pod is Ready on its update revision, and nothing of the database is missing, moving, excluded or
// under maintenance, by its own word.
func (c *Cluster) Whole(ctx context.Context, limit time.Duration) error {
	return c.Bed.Eventually(ctx, "a whole database", limit, func(ctx context.Context) error {
		for _, class := range classes {
			set, err := c.Bed.Kube.AppsV1().StatefulSets(Namespace).Get(ctx, nameOf(class), metav1.GetOptions{})
			if err != nil {
				return err
			}
			if err := c.Pods.Updated(set); err != nil {
				return err
			}
		}
		s, err := c.Status(ctx)
		if err != nil {
			return err
		}
		instances := map[string]bool{}
		for _, p := range s.Cluster.Processes {
			instances[p.Locality.Instance] = true
		}
		state := s.Cluster.Data.State
		switch {
		case !s.Client.Database.Available, !state.Healthy, state.Replicas < 2, s.Cluster.Tolerance.Zones < 1, len(instances) != 9:
			return fmt.Errorf("available %t, data %s, %d copies, %d zones may fail, %d processes",
				s.Client.Database.Available, state.Name, state.Replicas, s.Cluster.Tolerance.Zones, len(instances))
		case s.Cluster.Maintenance != "", len(s.Cluster.Configuration.Excluded) > 0:
			return fmt.Errorf("maintenance of %q, excluded are %s", s.Cluster.Maintenance, s.Cluster.Configuration.Excluded)
		}
		return nil
	})
}

// Touch changes an annotation of each pod template: a change that only restarts.
func (c *Cluster) Touch(ctx context.Context, value string) error {
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{%q:%q}}}}}`, manifests.Changed, value)
	for _, class := range classes {
		_, err := c.Bed.Kube.AppsV1().StatefulSets(Namespace).Patch(ctx, nameOf(class), types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: "e2e"})
		if err != nil {
			return err
		}
	}
	return nil
}

// Seats are the coordinators as the database names them, sorted.
func (s Status) Seats() []string {
	_, list, _ := strings.Cut(s.Cluster.Connection, "@")
	seats := strings.Split(list, ",")
	slices.Sort(seats)
	return seats
}
