// Command demo upgrades a real SolrCloud under load on a real Kubernetes, with
// Rollcall, and shows what happens while it happens.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rollcall-dev/rollcall/test/e2e/load"
	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/solrcloud"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

const (
	from  = "9.9.0"
	to    = "9.10.0"
	limit = 15 * time.Minute
)

func main() {
	name := flag.String("name", "demo", "name of the local cluster")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *name, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, name string, w io.Writer) error {
	started := time.Now()
	bed, err := testbed.Up(ctx, testbed.Options{Root: ".", Name: name, Log: w})
	if err != nil {
		return err
	}
	cloud, err := prepare(ctx, bed)
	if err != nil {
		return err
	}
	bed.Logf("=== the change: Solr %s -> %s on all six pods, under load", from, to)
	out, err := upgrade(ctx, cloud, w)
	if err != nil {
		out.Explain(w)
		return err
	}
	return summary(w, bed, out, time.Since(started))
}

// prepare brings everything to the state before the change; on a second run most of it is there.
func prepare(ctx context.Context, bed *testbed.Bed) (*solrcloud.Cloud, error) {
	bed.Logf("=== images")
	if err := bed.LoadImages(ctx); err != nil {
		return nil, err
	}
	bed.Logf("=== Rollcall: kubectl apply -f deploy/manifests/rollcall.yaml")
	if err := bed.Install(ctx); err != nil {
		return nil, err
	}
	bed.Logf("=== six Solr %s pods over three zones, with the label rollcall.dev/cluster, and one DatabaseCluster", from)
	if _, err := bed.Kubectl(ctx, "", "delete", "namespace", solrcloud.Namespace, "--ignore-not-found", "--timeout=400s"); err != nil {
		return nil, err
	}
	if _, err := bed.Kubectl(ctx, "", "create", "namespace", solrcloud.Namespace); err != nil {
		return nil, err
	}
	if err := bed.ApplyFile(ctx, "test", "e2e", "manifests", "databasecluster.yaml"); err != nil {
		return nil, err
	}
	cloud, err := solrcloud.Deploy(ctx, bed, solrcloud.Labelled)
	if err != nil {
		return nil, err
	}
	bed.Logf("=== collections: %s", strings.Join(solrcloud.Names(), ", "))
	return cloud, cloud.CreateCollections(ctx)
}

func upgrade(ctx context.Context, cloud *solrcloud.Cloud, w io.Writer) (rehearsal.Outcome, error) {
	showCtx, stop := context.WithCancel(ctx)
	var shown sync.WaitGroup
	defer shown.Wait()
	defer stop()
	out, err := rehearsal.Rehearsal{
		On:     cloud,
		Change: func(ctx context.Context) error { return cloud.SetImage(ctx, to) },
		Limit:  limit,
		Live: func(client *load.Client, wit *witness.Witness) {
			shown.Go(func() { show(showCtx, cloud.Bed, client, wit, w) })
		},
	}.Run(ctx)
	return out, err
}

// show prints the plan whenever it changes, with what the judges have seen so far.
func show(ctx context.Context, bed *testbed.Bed, client *load.Client, wit *witness.Witness, w io.Writer) {
	last := ""
	for ctx.Err() == nil {
		plan, err := bed.Rollcall(ctx, "plan", solrcloud.Name, "-n", solrcloud.Namespace, "-o", "text")
		if err == nil && digest(plan) != last {
			last = digest(plan)
			stats, seen := client.Stats(), wit.Report()
			_, _ = fmt.Fprintf(w, "%s  requests %d, failed %d; restarted %d of 6\n", time.Now().Format("15:04:05"), stats.Requests, stats.Failed, len(seen.RestartCounts()))
			for line := range strings.Lines(brief(plan)) {
				_, _ = fmt.Fprint(w, "          ", line)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

var ago = regexp.MustCompile(`\d+ s ago`)

// digest is what is new in a plan for somebody who watches: that a second has
// passed is not.
func digest(plan string) string { return ago.ReplaceAllString(brief(plan), "") }

// brief leaves out that each pod is held by what holds everybody.
func brief(plan string) string {
	everybody := ""
	var out strings.Builder
	for line := range strings.Lines(plan) {
		text, isHold := strings.CutPrefix(line, "hold   ")
		pod, why, _ := strings.Cut(text, " ")
		switch {
		case isHold && pod == "-":
			everybody += why
		case isHold && why != "" && strings.Contains(everybody, why):
			continue
		}
		out.WriteString(line)
	}
	return out.String()
}

func summary(w io.Writer, bed *testbed.Bed, out rehearsal.Outcome, took time.Duration) error {
	_, _ = fmt.Fprintf(w, "\n%s\n", strings.ReplaceAll(out.String(), "; ", "\n"))
	out.Explain(w)
	_, _ = fmt.Fprintf(w, `
all of this took %s. Look further:
  export KUBECONFIG=%s PATH=%s:$PATH
  rollcall get -A
  rollcall status solr -n demo
  rollcall explain solr-0 -n demo
  rollcall snapshot solr -n demo > snapshot.json; rollcall plan --snapshot snapshot.json
clean up:
  make down
`, took.Round(time.Second), bed.Kubeconfig, bed.Path("bin"))
	if out.Load.Failed > 0 {
		return fmt.Errorf("%d requests failed", out.Load.Failed)
	}
	if err := out.Witness.ElectedLast(); err != nil {
		return fmt.Errorf("the overseer was not last: %w", err)
	}
	if _, away := out.Witness.WorstShard(); away > 1 {
		return errors.New("more than one replica of a shard was away")
	}
	return nil
}
