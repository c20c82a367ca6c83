package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/test/e2e/audit"
	"github.com/rollcall-dev/rollcall/test/e2e/observer"
	"github.com/rollcall-dev/rollcall/test/e2e/solrcloud"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// startSeconds are the start seconds of the tests in which something is gone for a while: long
// enough for a pod to start and join, and less than pods have been Ready by then, which is when a
// process that is missing for seconds could be taken for one that has failed.
const startSeconds = 90

// observed is a rollout on which an observer looks who asks the database alone.
type observed struct {
	*observer.Observer
	bed   *testbed.Bed
	began time.Time
	end   func()
}

// observe begins to look.
func observe(t *testing.T, b *testbed.Bed, pods *testbed.Pods, read func(ctx context.Context) (observer.Copies, error)) *observed {
	t.Helper()
	o := &observed{Observer: observer.New(observer.Options{Read: read}), bed: b, began: time.Now()}
	unhook, err := pods.Deleted(func(pod *corev1.Pod) { o.Goes(pod.Name) })
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o.Run(ctx)
	}()
	o.end = func() {
		unhook()
		stop()
		<-ended
	}
	t.Cleanup(o.end)
	return o
}

// judged, which is to be deferred so that it is told whatever else has failed, ends
// it, and requires that no pod went while another copy of what it has did not
// serve, whatever the reason for that was; that all of them went by Rollcall's
// hand; and that nobody was said to have failed.
func (o *observed) judged(t *testing.T) {
	t.Helper()
	o.end()
	r := o.Report()
	failed, err := o.failed(t.Context())
	require.NoError(t, err)
	t.Logf("%s; %d claims or Events with the reason %s", r, len(failed), model.ReasonFailed)
	if r.Err() != nil || len(failed) > 0 {
		describe(t)
	}
	require.Empty(t, failed)
	require.NoError(t, r.Err())
	require.NotEmpty(t, r.Goings)
	require.Less(t, r.Blind*2, r.Looks, "the observer was blind")
	o.byRollcall(t, r)
}

// failed are the claims and Events with the reason Failed since it began: in these
// tests nothing is broken for good.
func (o *observed) failed(ctx context.Context) (said []string, err error) {
	events, err := o.bed.Kube.EventsV1().Events(solrcloud.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, e := range events.Items {
		if !e.CreationTimestamp.Time.Before(o.began.Truncate(time.Second)) && strings.Contains(e.Note, "("+string(model.ReasonFailed)+")") {
			said = append(said, e.Reason+": "+e.Note)
		}
	}
	out, err := o.bed.Kubectl(ctx, "", "get", "dbc", "-n", solrcloud.Namespace, "-o", `jsonpath={range .items[*].status.claims[*]}{.pod} {.reason}{"\n"}{end}`)
	for line := range strings.Lines(out) {
		if _, reason, _ := strings.Cut(strings.TrimSpace(line), " "); reason == string(model.ReasonFailed) {
			said = append(said, "claim: "+line)
		}
	}
	return said, err
}

// byRollcall: the API server's own log says who had the pods go.
func (o *observed) byRollcall(t *testing.T, r observer.Report) {
	t.Helper()
	file, ok := o.bed.AuditLog()
	if !ok {
		return
	}
	requests, err := audit.ReadFile(file, "system:serviceaccount:"+testbed.InstallNamespace+":rollcall-coordinator", o.began)
	require.NoError(t, err)
	removed := map[string]int{}
	for _, q := range requests {
		eviction := q.Verb == "create" && q.Object.Subresource == "eviction"
		deletion := q.Verb == "delete" && q.Object.Subresource == ""
		if q.Object.Resource == "pods" && q.Object.Namespace == solrcloud.Namespace && (eviction || deletion) && q.Response.Code < 300 {
			removed[q.Object.Name]++
		}
	}
	for _, v := range r.Goings {
		removed[v.Pod]--
		require.GreaterOrEqual(t, removed[v.Pod], 0, "%s went at %s, and not by Rollcall's hand", v.Pod, v.At)
	}
}

// startsWithin sets how long a pod may take to start, until the test ends.
func startsWithin(t *testing.T, b *testbed.Bed, database string, seconds int) {
	t.Helper()
	set := func(ctx context.Context, value string) error {
		_, err := b.Kubectl(ctx, "", "patch", "dbc", database, "-n", solrcloud.Namespace, "--type=merge", "-p", `{"spec":{"policy":{"startSeconds":`+value+`}}}`)
		return err
	}
	require.NoError(t, set(t.Context(), fmt.Sprint(seconds)))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := set(ctx, "null"); err != nil {
			t.Errorf("startSeconds stays: %v", err)
		}
	})
}

// readySince is when a pod became Ready, which it is.
func readySince(pod *corev1.Pod) (since time.Time, is bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && testbed.Ready(pod) {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}

// elders are the pods that are Ready, the one that has been so longest first.
func elders(pods *testbed.Pods) (names []string) {
	since := map[string]time.Time{}
	for _, pod := range pods.All() {
		if at, is := readySince(pod); is {
			since[pod.Name] = at
			names = append(names, pod.Name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return since[a].Compare(since[b]) })
	return names
}

// readyFor waits until the pod has been Ready for longer than a start may take.
func readyFor(ctx context.Context, b *testbed.Bed, pods *testbed.Pods, name string, d time.Duration) error {
	return b.Eventually(ctx, name+" to have been Ready for "+d.String(), d+time.Minute, func(context.Context) error {
		for _, pod := range pods.All() {
			if at, is := readySince(pod); is && pod.Name == name && time.Since(at) > d {
				return nil
			}
		}
		return errors.New("not yet")
	})
}
