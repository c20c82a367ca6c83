package status

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestStandbyShowsNothing(t *testing.T) {
	b := NewBoard()
	b.Publish(search(t))
	require.Empty(t, b.List(""), "a decision of a coordinator that is not elected is nobody's")

	b.Lead()
	b.Publish(search(t))
	require.Len(t, b.List(""), 1)
	leading, leader := b.Leader()
	require.True(t, leading)
	require.Empty(t, leader)

	b.Follow("10.0.0.2:7950")
	require.Empty(t, b.List(""), "what was true before must not be shown")
	leading, leader = b.Leader()
	require.False(t, leading)
	require.Equal(t, "10.0.0.2:7950", leader)
}

func TestListIsSortedAndOfANamespace(t *testing.T) {
	b := NewBoard()
	b.Lead()
	for _, key := range []Key{{Namespace: "b", Name: "y"}, {Namespace: "a", Name: "z"}, {Namespace: "b", Name: "x"}} {
		d := search(t)
		d.Key = key
		b.Publish(d)
	}
	var names []string
	for _, d := range b.List("") {
		names = append(names, d.Key.String())
	}
	require.Equal(t, []string{"a/z", "b/x", "b/y"}, names)
	require.Len(t, b.List("b"), 2)
	require.Empty(t, b.List("c"))
}

func TestWatchIsSignalledAtOnceAndCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := NewBoard()
		b.Lead()
		d := search(t)
		changed := b.Watch(ctx, d.Key)
		other := b.Watch(ctx, Key{Namespace: "prod", Name: "other"})
		<-changed
		<-other
		require.Empty(t, changed)

		b.Publish(d)
		b.Publish(d)
		require.Len(t, changed, 1)
		require.Empty(t, other, "another cluster is no news")
		<-changed

		b.Remove(d.Key)
		require.Len(t, changed, 1)
		<-changed
		b.Follow("")
		require.Len(t, other, 1, "who leads concerns everybody")
		<-changed

		cancel()
		synctest.Wait()
		require.Empty(t, b.watches)
		b.Lead()
		require.Empty(t, changed)
	})
}

type observer struct {
	decided func(previous *Decision, next Decision)
	gone    func(Key)
}

func (o observer) Decided(previous *Decision, next Decision) { o.decided(previous, next) }
func (o observer) Gone(key Key)                              { o.gone(key) }

func TestObserversSeeEachDecisionWithTheOneBefore(t *testing.T) {
	var before []*Decision
	var gone []Key
	b := NewBoard(observer{
		decided: func(previous *Decision, _ Decision) { before = append(before, previous) },
		gone:    func(k Key) { gone = append(gone, k) },
	})
	b.Lead()
	first, second := search(t), search(t, later(1))
	b.Publish(first)
	b.Publish(second)
	require.Nil(t, before[0])
	require.Equal(t, first.DecidedAt, before[1].DecidedAt)

	b.Remove(first.Key)
	b.Remove(first.Key)
	require.Equal(t, []Key{first.Key}, gone)

	b.Publish(second)
	require.Nil(t, before[2], "nothing is known of what was before it was gone")
	b.Follow("")
	require.Len(t, gone, 2, "a standby's metrics must not outlive its term")
}
