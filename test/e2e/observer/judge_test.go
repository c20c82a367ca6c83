package observer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/sqlpod"
)

func at(seconds float64) time.Time {
	return time.Unix(1000, 0).Add(time.Duration(seconds * float64(time.Second)))
}

// look is one that begins at a time and lasts 0.1 s.
func look(seconds float64, copies Copies) Look {
	return Look{Asked: at(seconds), Answered: at(seconds + 0.1), Copies: copies}
}

// books has a copy on each pod, of which some do not serve; logs has one on a and one on b.
func books(away ...string) Copies {
	c := Copies{"books": {"a": "", "b": "", "c": ""}, "logs": {"a": "", "b": ""}}
	for _, pod := range away {
		for _, copies := range c {
			if _, has := copies[pod]; has {
				copies[pod] = "down"
			}
		}
	}
	return c
}

func TestAPodThatGoesWhileAnotherServesNothingIsWrong(t *testing.T) {
	looks := []Look{look(0, books()), look(1, books("b")), look(2, books("b")), look(3, books())}
	r := judge(looks, []Going{{"a", at(1.5)}}, 1)
	require.Equal(t, map[string][]string{"books": {"b (down)"}, "logs": {"b (down)"}}, r.Goings[0].Missing)
	require.Equal(t, []string{"b"}, r.Goings[0].Away)
	require.ErrorContains(t, r.Err(), "of books did not serve: b (down)")
	require.ErrorContains(t, r.Err(), "when b served nothing")
	copies, pods := r.MostAway()
	require.Equal(t, 2, copies)
	require.Equal(t, 2, pods)
	require.NoError(t, judge(looks, []Going{{"a", at(1.5)}}, 2).Err(), "within a budget of two")
}

func TestWhatServedAMomentBeforeOrAfterWasThere(t *testing.T) {
	looks := []Look{look(0, books()), look(1, books("b")), look(2, books())}
	require.NoError(t, judge(looks, []Going{{"a", at(0.5)}}, 1).Err(), "b was there when nobody could know better")
	require.NoError(t, judge(looks, []Going{{"a", at(1.5)}}, 1).Err(), "b came back about then")
	require.NoError(t, judge(looks, []Going{{"b", at(1.5)}}, 1).Err(), "what goes itself is missed by nobody else")
}

func TestALookThatTakesLongCountsWhileItLasts(t *testing.T) {
	slow := Look{Asked: at(0.2), Answered: at(3), Copies: books("b")}
	looks := []Look{look(0, books("b")), slow, look(3.1, books("b"))}
	require.Error(t, judge(looks, []Going{{"a", at(1)}}, 1).Err())
	looks[1].Copies = books()
	require.NoError(t, judge(looks, []Going{{"a", at(1)}}, 1).Err())
}

func TestNobodyGoesUnseen(t *testing.T) {
	blind := func(seconds float64) Look {
		return Look{Asked: at(seconds), Answered: at(seconds + 0.1), Err: errors.New("no ZooKeeper serves")}
	}
	r := judge([]Look{look(0, books()), blind(1), blind(2), blind(3)}, []Going{{"a", at(2.5)}}, 1)
	require.ErrorContains(t, r.Err(), "nobody could tell which copies serve: no ZooKeeper serves")
	require.Equal(t, 3, r.Blind)
	require.NoError(t, judge([]Look{look(0, books()), blind(1)}, []Going{{"a", at(0.5)}}, 1).Err())
	require.ErrorContains(t, judge(nil, []Going{{"a", at(0)}}, 1).Err(), "nobody had looked yet")
}

func TestACopyOnNoPodIsMissingAndNoPodIsAway(t *testing.T) {
	c := Copies{"books": {"a": "", nowhere + "1": "UNASSIGNED"}}
	r := judge([]Look{look(0, c), look(1, c)}, []Going{{"a", at(0.5)}}, 1)
	require.Empty(t, r.Goings[0].Away)
	require.Len(t, r.Goings[0].Missing["books"], 1)
	require.Error(t, r.Err())
}

func TestObserverLooksAndIsTold(t *testing.T) {
	seen := make(chan struct{}, 100)
	o := New(Options{Every: time.Millisecond, Read: func(context.Context) (Copies, error) {
		seen <- struct{}{}
		return books("b"), nil
	}})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); o.Run(ctx) }()
	<-seen
	<-seen
	o.Goes("a")
	<-seen
	<-seen
	<-seen
	stop()
	<-ended
	require.ErrorContains(t, o.Report().Err(), "b (down)")
	newest, ok := o.Newest()
	require.True(t, ok)
	require.Equal(t, "down", newest.Copies["books"]["b"])
}

func TestEphemerals(t *testing.T) {
	nodes, serving := ephemerals("SessionTracker dump:\nephemeral nodes dump:\nSessions with Ephemerals (2):\n0x1:\n\t/live_nodes/solr-0.solr.demo:8983_solr\n\t/overseer_elect/x\n0x2:\n\t/live_nodes/solr-1.solr.demo:8983_solr\n")
	require.True(t, serving)
	require.Equal(t, []string{"solr-0.solr.demo:8983_solr", "solr-1.solr.demo:8983_solr"}, nodes)
	_, serving = ephemerals("This ZooKeeper instance is not currently serving requests\n")
	require.False(t, serving)
}

func TestServersOfMySQL(t *testing.T) {
	names := []string{"m-0", "m-1", "m-2"}
	replica := answer{follows: sqlpod.Follows{Source: "m-0.m.demo", Receiving: true, Applying: true}}
	connecting := replica
	connecting.follows.Receiving = false
	refused := connecting
	refused.follows.Failure = "error reconnecting"
	all := map[string]answer{"m-0": {writable: true}, "m-1": replica, "m-2": connecting}
	require.Equal(t, Copies{Rows: {"m-0": "", "m-1": "", "m-2": ""}}, servers(names, all))
	all["m-2"] = refused
	require.NotEmpty(t, servers(names, all)[Rows]["m-2"])
	all["m-2"] = answer{err: errors.New("refused")}
	require.Equal(t, "it does not answer: refused", servers(names, all)[Rows]["m-2"])
	delete(all, "m-2")
	require.Equal(t, "it is not there", servers(names, all)[Rows]["m-2"])
	all["m-0"] = answer{err: errors.New("refused")}
	require.NotEmpty(t, servers(names, map[string]answer{"m-0": all["m-0"], "m-1": connecting})[Rows]["m-1"], "its source is no primary any more")
}
