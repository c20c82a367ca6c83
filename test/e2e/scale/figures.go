package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rollcall-dev/rollcall/test/e2e/audit"
)

// requests are those of one account between two moments, by the API server's audit log.
func requests(logs, account string, from, to time.Time) ([]audit.Request, error) {
	files, err := filepath.Glob(filepath.Join(logs, "audit*.log"))
	if err != nil {
		return nil, err
	}
	var all []audit.Request
	for _, file := range files {
		some, err := audit.ReadFile(file, account, from)
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(some, func(r audit.Request) bool { return r.At.After(to) })...)
	}
	slices.SortFunc(all, func(a, b audit.Request) int { return a.At.Compare(b.At) })
	return all, nil
}

// kinds counts requests by verb and resource, the most frequent first.
func kinds(list []audit.Request) string {
	count := map[string]int{}
	for _, r := range list {
		what := r.Verb + " " + r.Object.Resource
		if r.Object.Subresource != "" {
			what += "/" + r.Object.Subresource
		}
		count[what]++
	}
	var names []string
	for name := range count {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
	var out []string
	for _, name := range names {
		out = append(out, fmt.Sprintf("%d %s", count[name], name))
	}
	return cmp.Or(strings.Join(out, ", "), "none")
}

// writes are those that count: no Events, no Lease.
func writes(list []audit.Request) (n int) {
	for _, r := range list {
		if r.Writes() && r.Object.Resource != "events" && r.Object.Resource != "leases" {
			n++
		}
	}
	return n
}

func lists(list []audit.Request) (n int) {
	for _, r := range list {
		if r.Verb == "list" {
			n++
		}
	}
	return n
}

// removals are when pods were let go, by namespace and pod.
func removals(list []audit.Request) map[string]time.Time {
	at := map[string]time.Time{}
	for _, r := range list {
		gone := r.Verb == "delete" && r.Object.Resource == "pods" || r.Verb == "create" && r.Object.Subresource == "eviction"
		if gone && r.Response.Code < 300 {
			at[r.Object.Namespace+"/"+r.Object.Name] = r.At
		}
	}
	return at
}

// quantile returns the quantile of sorted durations.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))].Round(time.Millisecond)
}

func spread(d []time.Duration) string {
	slices.Sort(d)
	return fmt.Sprintf("median %s, p99 %s, worst %s of %d", quantile(d, 0.5), quantile(d, 0.99), quantile(d, 1), len(d))
}

// table collects what was measured and writes it as Markdown at the end.
type table struct {
	rows   [][3]string
	misses []string
}

// add notes a figure, and tells it at once.
func (t *table) add(what, bar, figure string) {
	t.rows = append(t.rows, [3]string{what, bar, figure})
	say("%s: %s%s", what, figure, map[bool]string{true: "", false: " (bar: " + bar + ")"}[bar == ""])
}

// gate notes a figure that must keep its bar.
func (t *table) gate(what, bar, figure string, kept bool) {
	t.add(what, bar, figure)
	if !kept {
		t.misses = append(t.misses, fmt.Sprintf("%s: %s, not %s", what, figure, bar))
	}
}

func (t *table) write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 1, ' ', tabwriter.Debug)
	fmt.Fprintln(tw, "| what\t bar\t figure\t")
	fmt.Fprintln(tw, "| ---\t ---\t ---\t")
	for _, r := range t.rows {
		fmt.Fprintf(tw, "| %s\t %s\t %s\t\n", r[0], r[1], r[2])
	}
	return tw.Flush()
}
