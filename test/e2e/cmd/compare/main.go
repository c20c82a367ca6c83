// Command compare rolls the same change through the same kind of SolrCloud in
// three ways, one after the other: Kubernetes' plain rolling update, a careful
// one-at-a-time roll, and Rollcall. It prints one table.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/solrcloud"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

const (
	limit     = 10 * time.Minute
	namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo}\n"
)

func main() {
	name := flag.String("name", "compare", "name of the local cluster")
	ways := flag.String("ways", "plain,careful,rollcall", "which ways to run")
	keep := flag.Bool("keep", false, "leave the cluster up")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, options{name: *name, ways: strings.Split(*ways, ","), keep: *keep}, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

type options struct {
	name string
	ways []string
	keep bool
}

type result struct {
	way string
	out rehearsal.Outcome
}

var allWays = []struct {
	key, name string
	images    []string
	run       func(context.Context, *testbed.Bed) (rehearsal.Outcome, error)
}{
	{"plain", "plain rolling update", []string{"solr"}, plain},
	{"careful", "one at a time", []string{"solr"}, careful},
	{"rollcall", "Rollcall", append([]string{"solr"}, testbed.Images...), rollcall},
}

func run(ctx context.Context, o options, w io.Writer) (err error) {
	bed, err := testbed.Up(ctx, testbed.Options{Root: ".", Name: o.name, Log: w})
	if err != nil {
		return err
	}
	if !o.keep {
		defer func() {
			if downErr := bed.Down(context.WithoutCancel(ctx)); err == nil {
				err = downErr
			}
		}()
	}
	var results []result
	for _, way := range allWays {
		if !slices.Contains(o.ways, way.key) {
			continue
		}
		if err := bed.LoadImages(ctx, way.images...); err != nil {
			return err
		}
		bed.Logf("=== %s", way.name)
		out, err := way.run(ctx, bed)
		if err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
		bed.Logf("%s: %s", way.name, out)
		out.Explain(w)
		results = append(results, result{way.name, out})
	}
	return table(w, results)
}

func table(w io.Writer, results []result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "\nWAY\tSECONDS\tREQUESTS\tFAILED\tRETRIED\tLOST\tPODS UNAVAILABLE\tSHARD REPLICAS UNAVAILABLE")
	for _, r := range results {
		_, away := r.out.Witness.WorstShard()
		_, _ = fmt.Fprintf(t, "%s\t%.0f\t%d\t%d\t%d\t%d\t%d\t%d\n", r.way, r.out.Took.Seconds(), r.out.Load.Requests, r.out.Load.Failed,
			r.out.Load.Retried, r.out.LostDocs(), r.out.Witness.MaxPodsAway, away)
	}
	return t.Flush()
}

func plain(ctx context.Context, bed *testbed.Bed) (rehearsal.Outcome, error) {
	return on(ctx, bed, solrcloud.RollingUpdate, func(ctx context.Context, c *solrcloud.Cloud) error { return c.Touch(ctx, "plain") })
}

func careful(ctx context.Context, bed *testbed.Bed) (rehearsal.Outcome, error) {
	return on(ctx, bed, nil, func(ctx context.Context, c *solrcloud.Cloud) error {
		if err := c.Touch(ctx, "careful"); err != nil {
			return err
		}
		return c.OneAtATime(ctx)
	})
}

func rollcall(ctx context.Context, bed *testbed.Bed) (rehearsal.Outcome, error) {
	if err := bed.Install(ctx); err != nil {
		return rehearsal.Outcome{}, err
	}
	if err := bed.Apply(ctx, namespace); err != nil {
		return rehearsal.Outcome{}, err
	}
	if err := bed.ApplyFile(ctx, "test", "e2e", "manifests", "databasecluster.yaml"); err != nil {
		return rehearsal.Outcome{}, err
	}
	return on(ctx, bed, solrcloud.Labelled, func(ctx context.Context, c *solrcloud.Cloud) error { return c.Touch(ctx, "rollcall") })
}

// on deploys a fresh SolrCloud, makes the change under load, and removes it.
func on(ctx context.Context, bed *testbed.Bed, edit func(*appsv1.StatefulSet), change func(context.Context, *solrcloud.Cloud) error) (rehearsal.Outcome, error) {
	if err := bed.Apply(ctx, namespace); err != nil {
		return rehearsal.Outcome{}, err
	}
	cloud, err := solrcloud.Deploy(ctx, bed, edit)
	if err != nil {
		return rehearsal.Outcome{}, err
	}
	if err := cloud.CreateCollections(ctx); err != nil {
		return rehearsal.Outcome{}, err
	}
	out, err := rehearsal.Rehearsal{
		On:     cloud,
		Change: func(ctx context.Context) error { return change(ctx, cloud) },
		Limit:  limit,
	}.Run(ctx)
	if err != nil {
		return out, err
	}
	return out, cloud.Delete(ctx)
}
