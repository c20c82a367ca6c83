package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A sequence changes places only within a rank, behind the broken pods and before the last ones.
func TestFastKeepsRanksAndLastPods(t *testing.T) {
	eachSnapshot(t, func(t *testing.T, _ generator, s model.Snapshot) {
		s.Cluster.Spec.Update.Schedule = model.Fast
		d := newDecision(&s, "", false)
		sequence := d.schedule()
		require.Len(t, sequence, len(d.order))
		for i, at := range sequence {
			a, b := &d.order[i], &d.order[at]
			require.Equal(t, a.broken, b.broken)
			require.Equal(t, a.Last, b.Last)
			require.Equal(t, a.Rank, b.Rank)
			require.True(t, i == int(at) || !a.broken && !a.Last)
		}
	})
}

// Ties are broken by the order.
func TestFastDoesNotDependOnTheInputsOrder(t *testing.T) {
	eachSnapshot(t, func(t *testing.T, g generator, s model.Snapshot) {
		s.Cluster.Spec.Update.Schedule = model.Fast
		require.Equal(t, Decide(s), Decide(g.shuffle(s)))
	})
}

// For these the order is about more than speed.
func TestCanariesAndPartitionsKeepTheOrder(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*model.Snapshot)
		keeps  bool
	}{
		"as it is":              {func(*model.Snapshot) {}, false},
		"a canary that is out":  {func(s *model.Snapshot) { s.Cluster.Spec.Update.Canary.Pods = 1 }, true},
		"a canary that is back": {func(s *model.Snapshot) { s.Cluster.Spec.Update.Canary.Pods = 1; s.Pods[0].Revision = "v2" }, false},
		"a partition":           {func(s *model.Snapshot) { s.Cluster.Spec.Update.RollingUpdate = model.RollingUpdateByPartition }, true},
		"a zone at a time":      {func(s *model.Snapshot) { s.Cluster.Spec.Policy.Unit = model.UnitZone }, true},
		"ordered":               {func(s *model.Snapshot) { s.Cluster.Spec.Update.Schedule = model.Ordered }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := goldenSnapshots(t)["fast_longest_first"]
			c.change(&s)
			require.Equal(t, c.keeps, newDecision(&s, "", false).keepsOrder())
		})
	}
}

// The scripts show what is gained.
func TestFastForecasts(t *testing.T) {
	for script, want := range map[string]struct{ ordered, fast model.Forecast }{
		"fast_longest_first": {model.Forecast{Waves: 2, Seconds: 40, BoundSeconds: 30}, model.Forecast{Waves: 2, Seconds: 30, BoundSeconds: 30}},
		"fast_zone_by_zone":  {model.Forecast{Waves: 4, Seconds: 120, BoundSeconds: 90}, model.Forecast{Waves: 3, Seconds: 90, BoundSeconds: 90}},
		"fast_chain_first":   {model.Forecast{Waves: 3, Seconds: 120, BoundSeconds: 80}, model.Forecast{Waves: 2, Seconds: 80, BoundSeconds: 80}},
	} {
		s := goldenSnapshots(t)[script]
		require.Equal(t, want.fast, Decide(s).Forecast, script)
		s.Cluster.Spec.Update.Schedule = model.Ordered
		require.Equal(t, want.ordered, Decide(s).Forecast, script)
	}
}

// Terminating pods are part of the forecast, with their remaining time.
func TestTerminatingPods(t *testing.T) {
	s := threePods(t)
	noClaims(&s)
	for i := range s.Pods {
		s.Pods[i].EstimateSeconds = 100
	}
	require.Equal(t, model.Forecast{Waves: 3, Seconds: 300, BoundSeconds: 300}, Decide(s).Forecast)
	claim := model.Claim{ID: "c", Pod: s.Pods[0].Name, UID: s.Pods[0].UID, Phase: model.PhaseGone, StartedAt: model.At(s.Now.Add(-30 * time.Second))}
	s.Cluster.Status.Claims = []model.Claim{claim}
	require.Equal(t, model.Forecast{Waves: 3, Seconds: 270, BoundSeconds: 200}, Decide(s).Forecast)
	s.Cluster.Status.Claims[0].StartedAt = model.At(s.Now.Add(-time.Hour))
	require.Equal(t, model.Forecast{Waves: 3, Seconds: 210, BoundSeconds: 200}, Decide(s).Forecast, "one that is late is nearly back")
}
