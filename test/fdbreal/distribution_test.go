package fdbreal

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// TestDataDistributionDisabled turns off what notices lost storage, in each way that there is. All pods are held by its name, also
// when a storage process is killed then, and go again when it is on.
func TestDataDistributionDisabled(t *testing.T) {
	for name, way := range map[string]struct{ off, on string }{
		"off":       {"datadistribution off", "datadistribution on"},
		"ssfailure": {"datadistribution disable ssfailure", "datadistribution enable ssfailure"},
	} {
		t.Run(name, func(t *testing.T) {
			c := Start(t, Options{Data: 50})
			r := NewRollcall(t, c)
			r.RequireAnybody(6 * time.Minute)
			r.Notices = time.Hour
			t.Log(c.Admin.must(t, way.off))
			time.Sleep(3 * time.Second)
			said := r.RequireNobody(30 * time.Second)
			require.Contains(t, strings.ReplaceAll(strings.ToLower(said), " ", ""), "datadistribution", "the reason names what is off:\n%s", said)

			watch := c.StartWatch(t)
			p := c.Holder()
			c.Kill(p)
			asked := r.AskUntil(2*time.Minute, nil, p.Zone)
			t.Log(asked, watch.Seen())
			require.Empty(t, asked.Wrong)
			require.Equal(t, 1, watch.Seen().Least, "the test itself: a shard has one copy")

			c.Run(p)
			t.Log(c.Admin.must(t, way.on))
			asked = r.AskUntil(5*time.Minute, r.anybody, zones...)
			t.Log("on again:", asked, watch.Stop())
			require.NotEmpty(t, asked.May, asked.Words)
		})
	}
}

// TestDistributorKilledInMidRepair kills a storage process and, once its data are being built elsewhere, the process that does so.
// Its successor needs a minute to call the dead server failed again, and the database calls itself healthy meanwhile; while a shard
// has one copy, nobody of another zone may go.
func TestDistributorKilledInMidRepair(t *testing.T) {
	c := Start(t, Options{Data: 700})
	r := NewRollcall(t, c)
	r.RequireAnybody(6 * time.Minute)
	r.Notices = time.Hour
	watch := c.StartWatch(t)
	killed := time.Now()
	p := c.Holder()
	c.Kill(p)
	var distributor *Pod
	kill := func(model.Snapshot, model.Plan) bool {
		if distributor != nil {
			return watch.Seen().Now.Least >= 2
		}
		s, err := c.Admin.status(t.Context(), 10*time.Second)
		if err != nil || s.Cluster.Data.State.Name != "healing" {
			return false
		}
		name := s.podWith("data_distributor")
		if name == "" {
			return false
		}
		distributor = c.Pod(name)
		t.Logf("%s repair begins %s after the kill; the distributor is %s of %s", clock(), time.Since(killed).Round(time.Second), name, distributor.Zone)
		c.Kill(distributor)
		c.Run(distributor)
		return false
	}
	asked := r.AskUntil(8*time.Minute, kill, p.Zone)
	t.Logf("%s after the kill: %s; %s", time.Since(killed).Round(time.Second), asked, watch.Stop())
	require.NotNil(t, distributor, "the test itself: no repair was seen")
	require.Empty(t, asked.Wrong)
	require.GreaterOrEqual(t, watch.Seen().Now.Least, 2, "the repair did not end")
	if watch.Seen().Wrong < time.Second {
		t.Log("the database never called itself healthy with one copy: this run proves less than it could")
	}
}
