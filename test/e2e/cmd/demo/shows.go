package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/searchcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/solrcloud"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// database is one that can be upgraded.
type database interface {
	rehearsal.Database
	SetImage(ctx context.Context, tag string) error
}

// show is the demo of one kind of database.
type show struct {
	image string // its archive
	// manifests are those of the DatabaseClusters.
	manifests []string
	clusters  []string // their names
	pod       string   // one of them, as an example
	pods      int
	to        string // the version
	last      string // the pod that goes last
	// what is there before, and the change, in words.
	what, change string
	deploy       func(context.Context, *testbed.Bed) (database, error)
}

var shows = map[string]show{
	"solr": {
		image: "solr", manifests: []string{"databasecluster.yaml", "zookeeper-databasecluster.yaml"}, clusters: []string{solrcloud.Name, solrcloud.EnsembleCluster}, pod: "solr-0", pods: 6, to: "10.0.0", last: "the overseer",
		what:   "six Solr 9.10.1 pods and three of ZooKeeper over three zones",
		change: "Solr 9.10.1 -> 10.0.0 on all six pods, and another image on the three of ZooKeeper", deploy: solr,
	},
	"opensearch": {
		image: "opensearch", manifests: []string{"opensearch-databasecluster.yaml"}, clusters: []string{searchcluster.Name}, pod: "os-data-0", pods: 8, to: "3.8.0", last: "the elected manager",
		what:   "eight OpenSearch 2.19.6 pods over three zones: three managers, four with data, one that coordinates",
		change: "OpenSearch 2.19.6 -> 3.8.0 on all eight pods, in three StatefulSets", deploy: openSearch,
	},
	"mysql":   sqlShow(sqlcluster.MySQL),
	"mariadb": sqlShow(sqlcluster.MariaDB),
}

// engines that have a demo.
func engines() string { return strings.Join(slices.Sorted(maps.Keys(shows)), ", ") }

func sqlShow(f sqlcluster.Flavor) show {
	return show{
		image: f.Name, manifests: []string{f.Name + "-databasecluster.yaml"}, clusters: []string{f.Name}, pod: f.Name + "-0", pods: sqlcluster.Servers, to: sqlcluster.NewTag, last: "the primary",
		what:   fmt.Sprintf("three %s pods over three zones: one primary, two replicas", f.Engine),
		change: fmt.Sprintf("another image of %s on all three pods; the primary is handed over once", f.Engine),
		deploy: func(ctx context.Context, bed *testbed.Bed) (database, error) {
			cluster, err := sqlcluster.Deploy(ctx, bed, f, sqlcluster.Labelled)
			if err != nil {
				return nil, err
			}
			primary, err := cluster.Primary(ctx)
			if err != nil {
				return nil, err
			}
			bed.Logf("=== %s is the primary, the others follow it", primary)
			return cluster.Session()
		},
	}
}

func solr(ctx context.Context, bed *testbed.Bed) (database, error) {
	cloud, err := solrcloud.DeployWithEnsemble(ctx, bed)
	if err != nil {
		return nil, err
	}
	bed.Logf("=== collections: %s", strings.Join(solrcloud.Names(), ", "))
	return cloud, cloud.CreateCollections(ctx)
}

func openSearch(ctx context.Context, bed *testbed.Bed) (database, error) {
	cluster, err := searchcluster.Deploy(ctx, bed, searchcluster.Labelled)
	if err != nil {
		return nil, err
	}
	bed.Logf("=== indices: %s; the last has no replicas", strings.Join(searchcluster.Names(), ", "))
	return cluster, cluster.CreateIndices(ctx)
}
