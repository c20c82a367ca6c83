package status

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// recording runs a Recorder in virtual time and gives what it wrote.
func recording(t *testing.T, test func(r *Recorder, client *fake.Clientset, written func() []eventsv1.Event)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		r, err := NewRecorder(client.EventsV1(), RecorderOptions{Instance: "rollcall-coordinator-0", Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		test(r, client, func() []eventsv1.Event {
			synctest.Wait()
			list, err := client.EventsV1().Events("").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			return list.Items
		})
		cancel()
		require.NoError(t, <-ended)
	})
}

func sample(note string) Event {
	return Event{Cluster: Key{Namespace: "prod", Name: "search"}, ClusterUID: "c1", Pod: "search-1", PodUID: "u1", Reason: EventRestartSelected, Note: note}
}

func TestEventStandsOnClusterAndPod(t *testing.T) {
	recording(t, func(r *Recorder, _ *fake.Clientset, written func() []eventsv1.Event) {
		r.Record(sample("search-1: Restart"))
		events := written()
		require.Len(t, events, 2)
		about := map[string]eventsv1.Event{}
		for _, e := range events {
			about[e.Regarding.Kind] = e
			require.Equal(t, "prod", e.Namespace)
			require.Equal(t, "Normal", e.Type)
			require.Equal(t, Controller, e.ReportingController)
			require.Equal(t, "rollcall-coordinator-0", e.ReportingInstance)
			require.NotEmpty(t, e.Action)
			require.False(t, e.EventTime.IsZero())
			require.Empty(t, validation.IsDNS1123Subdomain(e.Name), e.Name)
		}
		require.Equal(t, "rollcall.dev/v1alpha1", about["DatabaseCluster"].Regarding.APIVersion)
		require.EqualValues(t, "c1", about["DatabaseCluster"].Regarding.UID)
		require.Equal(t, "search-1", about["DatabaseCluster"].Related.Name)
		require.EqualValues(t, "u1", about["Pod"].Regarding.UID)
	})
}

func TestSameEventIsCounted(t *testing.T) {
	recording(t, func(r *Recorder, _ *fake.Clientset, written func() []eventsv1.Event) {
		e := sample("held")
		e.Pod = ""
		r.Record(e)
		r.Record(e)
		time.Sleep(9 * time.Minute)
		r.Record(e)
		events := written()
		require.Len(t, events, 1)
		require.EqualValues(t, 3, events[0].Series.Count)
		require.Equal(t, 9*time.Minute, events[0].Series.LastObservedTime.Sub(events[0].EventTime.Time))

		time.Sleep(11 * time.Minute)
		r.Record(e)
		require.Len(t, written(), 2, "long after it is news again")

		e.Note = "held by another"
		r.Record(e)
		require.Len(t, written(), 3)
	})
}

func TestExpiredEventIsWrittenAnew(t *testing.T) {
	recording(t, func(r *Recorder, client *fake.Clientset, written func() []eventsv1.Event) {
		e := sample("held")
		e.Pod = ""
		r.Record(e)
		first := written()[0]
		require.NoError(t, client.EventsV1().Events("prod").Delete(t.Context(), first.Name, metav1.DeleteOptions{}))
		r.Record(e)
		require.Len(t, written(), 1)
	})
}

func TestEventsAreBounded(t *testing.T) {
	recording(t, func(r *Recorder, _ *fake.Clientset, written func() []eventsv1.Event) {
		for i := range 100 {
			e := sample(fmt.Sprint(i))
			e.Pod = ""
			r.Record(e)
		}
		require.Len(t, written(), burst)
		time.Sleep(3 * every)
		for i := range 100 {
			e := sample(fmt.Sprint("later", i))
			e.Pod = ""
			r.Record(e)
		}
		require.Len(t, written(), burst+3)

		other := sample("other")
		other.Cluster.Name, other.Pod = "other", ""
		r.Record(other)
		require.Len(t, written(), burst+4, "one cluster does not use up another's")
	})
}

func TestRecordNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := NewRecorder(fake.NewClientset().EventsV1(), RecorderOptions{Instance: "x"})
		require.NoError(t, err)
		began := time.Now()
		for range queued + 10 {
			r.Record(sample("nobody writes"))
		}
		require.Len(t, r.queue, queued)
		require.Zero(t, time.Since(began))
	})
}

func TestFailedWriteIsForgotten(t *testing.T) {
	recording(t, func(r *Recorder, client *fake.Clientset, written func() []eventsv1.Event) {
		refuse := true
		client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
			return refuse, nil, errors.New("no room")
		})
		r.Record(sample("held"))
		require.Empty(t, written())
		refuse = false
		r.Record(sample("held"))
		require.Len(t, written(), 2)
	})
}

func TestRecorderForgets(t *testing.T) {
	recording(t, func(r *Recorder, _ *fake.Clientset, written func() []eventsv1.Event) {
		r.Record(sample("held"))
		written()
		time.Sleep(2 * sameWithin)
		synctest.Wait()
		require.Empty(t, r.written)
		require.Empty(t, r.budgets)
	})
}

func TestLongTextsAreCut(t *testing.T) {
	recording(t, func(r *Recorder, _ *fake.Clientset, written func() []eventsv1.Event) {
		e := sample(strings.Repeat("é", 1000))
		e.Pod = strings.Repeat("a", 253)
		r.Record(e)
		for _, e := range written() {
			require.LessOrEqual(t, len(e.Note), maxNote)
			require.LessOrEqual(t, len(e.Name), 253)
			require.True(t, strings.HasSuffix(e.Note, "é"), "cut between two characters")
		}
	})
}

func TestRecorderNeedsAnInstance(t *testing.T) {
	_, err := NewRecorder(fake.NewClientset().EventsV1(), RecorderOptions{})
	require.ErrorContains(t, err, "instance is empty")
}
