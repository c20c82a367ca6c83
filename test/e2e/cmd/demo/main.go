// Command demo upgrades a real database under load on a real Kubernetes, with
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
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

const (
	namespace = "demo"
	limit     = 30 * time.Minute
)

func main() {
	name := flag.String("name", "demo", "name of the local cluster")
	engine := flag.String("engine", "solr", "one of "+engines())
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *name, *engine, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, name, engine string, w io.Writer) error {
	started := time.Now()
	show, ok := shows[engine]
	if !ok {
		return fmt.Errorf("there is no demo of %q: must be one of %s", engine, engines())
	}
	bed, err := testbed.Up(ctx, testbed.Options{Root: ".", Name: name, Log: w})
	if err != nil {
		return err
	}
	database, err := prepare(ctx, bed, show)
	if err != nil {
		return err
	}
	bed.Logf("=== the change: %s, under load", show.change)
	out, err := upgrade(ctx, bed, show, database, w)
	if err != nil {
		out.Explain(w)
		return err
	}
	return summary(ctx, w, bed, show, database, out, time.Since(started))
}

// prepare brings everything to the state before the change; on a second run most of it is there.
func prepare(ctx context.Context, bed *testbed.Bed, show show) (database, error) {
	bed.Logf("=== images")
	if err := bed.LoadImages(ctx, append([]string{show.image}, testbed.Images...)...); err != nil {
		return nil, err
	}
	bed.Logf("=== Rollcall: kubectl apply -f deploy/manifests/rollcall.yaml")
	if err := bed.Install(ctx); err != nil {
		return nil, err
	}
	bed.Logf("=== %s, with the label rollcall.dev/cluster, and a DatabaseCluster", show.what)
	if _, err := bed.Kubectl(ctx, "", "delete", "namespace", namespace, "--ignore-not-found", "--timeout=400s"); err != nil {
		return nil, err
	}
	if _, err := bed.Kubectl(ctx, "", "create", "namespace", namespace); err != nil {
		return nil, err
	}
	for _, manifest := range show.manifests {
		if err := bed.ApplyFile(ctx, "test", "e2e", "manifests", manifest); err != nil {
			return nil, err
		}
	}
	return show.deploy(ctx, bed)
}

func upgrade(ctx context.Context, bed *testbed.Bed, show show, database database, w io.Writer) (rehearsal.Outcome, error) {
	showCtx, stop := context.WithCancel(ctx)
	var shown sync.WaitGroup
	defer shown.Wait()
	defer stop()
	return rehearsal.Rehearsal{
		On:     database,
		Change: func(ctx context.Context) error { return database.SetImage(ctx, show.to) },
		Limit:  limit,
		Live: func(client rehearsal.Client, wit *witness.Witness) {
			shown.Go(func() { watch(showCtx, bed, show, client, wit, w) })
		},
	}.Run(ctx)
}

// watch prints the plan whenever it changes, with what the judges have seen so far.
func watch(ctx context.Context, bed *testbed.Bed, show show, client rehearsal.Client, wit *witness.Witness, w io.Writer) {
	last := ""
	for ctx.Err() == nil {
		plan, err := plans(ctx, bed, show)
		if err == nil && digest(plan) != last {
			last = digest(plan)
			stats, seen := client.Stats(), wit.Report()
			_, _ = fmt.Fprintf(w, "%s  requests %d, failed %d; restarted %d of %d%s\n", time.Now().Format("15:04:05"), stats.Requests, stats.Failed, len(seen.RestartCounts()), show.pods, written(stats.Writes))
			for line := range strings.Lines(plan) {
				_, _ = fmt.Fprint(w, "          ", line)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// plans are those of all its clusters.
func plans(ctx context.Context, bed *testbed.Bed, show show) (string, error) {
	var all string
	for _, cluster := range show.clusters {
		plan, err := bed.Rollcall(ctx, "plan", cluster, "-n", namespace, "-o", "text")
		if err != nil {
			return "", err
		}
		all += brief(plan)
	}
	return all, nil
}

// written is who acknowledges writes where only one does, and how long nobody did.
func written(w *load.Writes) string {
	if w == nil || len(w.Turns) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s takes writes, for %d ms at most nobody did", w.Turns[len(w.Turns)-1].Through, w.Longest.Milliseconds())
}

var ago = regexp.MustCompile(`\d+ s ago`)

// digest removes ages from a plan, because the passing of time alone is not news.
func digest(plan string) string { return ago.ReplaceAllString(plan, "") }

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

func summary(ctx context.Context, w io.Writer, bed *testbed.Bed, show show, database database, out rehearsal.Outcome, took time.Duration) error {
	text := out.String()
	var more error
	if judge, ok := database.(interface {
		Seen(context.Context, rehearsal.Outcome) (string, error)
	}); ok {
		var seen string
		seen, more = judge.Seen(ctx, out)
		text += "; " + seen
	}
	_, _ = fmt.Fprintf(w, "\n%s\n", strings.ReplaceAll(text, "; ", "\n"))
	out.Explain(w)
	_, _ = fmt.Fprintf(w, `
all of this took %[1]s. Look further:
  export KUBECONFIG=%[2]s PATH=%[3]s:$PATH
  rollcall get -A
  rollcall status %[4]s -n demo
  rollcall explain %[5]s -n demo
  rollcall snapshot %[4]s -n demo > snapshot.json; rollcall plan --snapshot snapshot.json
clean up:
  make down
`, took.Round(time.Second), bed.Kubeconfig, bed.Path("bin"), show.clusters[0], show.pod)
	return errors.Join(judge(out, show), more)
}

// judge says what of a rollout was not as promised.
func judge(out rehearsal.Outcome, show show) error {
	if out.Load.Failed > 0 {
		return fmt.Errorf("%d requests failed", out.Load.Failed)
	}
	if lost := out.LostDocs(); lost > 0 {
		return fmt.Errorf("%d acknowledged documents are lost", lost)
	}
	if err := out.Witness.ElectedLast(); err != nil {
		return fmt.Errorf("%s was not last: %w", show.last, err)
	}
	if again := out.Witness.Again(); len(again) > 0 {
		return fmt.Errorf("more than once: %v", again)
	}
	if shard, away := out.Witness.WorstShard(); away > 1 {
		return fmt.Errorf("%d replicas of %s were unavailable together", away, shard)
	}
	return nil
}
