package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func TestForecasts(t *testing.T) {
	for _, c := range []struct {
		name string
		in   string
		want model.Forecast
	}{
		{"nobody", `
pools: [{name: p, replicas: 1, revision: v1}]
pods: [{name: p-0, uid: u0, pool: p, revision: v1, report: {}}]`, model.Forecast{}},
		{"one at a time", `
pools: [{name: p, replicas: 3, revision: v2}]
pods:
- {name: p-0, uid: u0, pool: p, ordinal: 0, revision: v1, estimateSeconds: 10, report: {}}
- {name: p-1, uid: u1, pool: p, ordinal: 1, revision: v1, estimateSeconds: 10, report: {}}
- {name: p-2, uid: u2, pool: p, ordinal: 2, revision: v1, estimateSeconds: 10, report: {}}`, model.Forecast{Waves: 3, Seconds: 30, BoundSeconds: 30}},
		{"two at a time, the long one first in the order", `
spec: {policy: {maxUnavailable: 2}}
pools: [{name: p, replicas: 3, revision: v2}]
pods:
- {name: p-0, uid: u0, pool: p, ordinal: 0, revision: v1, estimateSeconds: 10, report: {}}
- {name: p-1, uid: u1, pool: p, ordinal: 1, revision: v1, estimateSeconds: 10, report: {}}
- {name: p-2, uid: u2, pool: p, ordinal: 2, revision: v1, estimateSeconds: 30, report: {}}`, model.Forecast{Waves: 2, Seconds: 30, BoundSeconds: 30}},
		{"the soak is part of the time", `
spec: {policy: {soakSeconds: 5}}
pools: [{name: p, replicas: 2, revision: v2}]
pods:
- {name: p-0, uid: u0, pool: p, ordinal: 0, revision: v1, estimateSeconds: 10, report: {}}
- {name: p-1, uid: u1, pool: p, ordinal: 1, revision: v1, estimateSeconds: 10, report: {}}`, model.Forecast{Waves: 2, Seconds: 30, BoundSeconds: 30}},
		{"three shards of two in a ring: the clique", `
spec: {policy: {maxUnavailable: 3}}
pools: [{name: p, replicas: 3, revision: v2}]
pods:
- {name: p-0, uid: u0, pool: p, ordinal: 0, revision: v1, estimateSeconds: 10, report: {}}
- {name: p-1, uid: u1, pool: p, ordinal: 1, revision: v1, estimateSeconds: 10, report: {}}
- {name: p-2, uid: u2, pool: p, ordinal: 2, revision: v1, estimateSeconds: 10, report: {}}
groups:
- {id: a, members: [{id: x, pod: p-0, leader: true}, {id: z, pod: p-1}]}
- {id: b, members: [{id: x, pod: p-1, leader: true}, {id: z, pod: p-2}]}
- {id: c, members: [{id: x, pod: p-2, leader: true}, {id: z, pod: p-0}]}`, model.Forecast{Waves: 3, Seconds: 30, BoundSeconds: 30}},
		{"the overseer alone at the end", `
spec: {policy: {maxUnavailable: 3}}
pools: [{name: p, replicas: 3, revision: v2}]
pods:
- {name: p-0, uid: u0, pool: p, ordinal: 0, revision: v1, estimateSeconds: 10, report: {last: true}}
- {name: p-1, uid: u1, pool: p, ordinal: 1, revision: v1, estimateSeconds: 10, report: {}}
- {name: p-2, uid: u2, pool: p, ordinal: 2, revision: v1, estimateSeconds: 20, report: {}}`, model.Forecast{Waves: 2, Seconds: 30, BoundSeconds: 20}},
		{"a shard that nothing protects goes all the same", `
spec: {policy: {maxUnavailable: 2}}
pools: [{name: p, replicas: 2, revision: v2}]
pods:
- {name: p-0, uid: u0, pool: p, ordinal: 0, revision: v1, estimateSeconds: 10, report: {}}
- {name: p-1, uid: u1, pool: p, ordinal: 1, revision: v1, estimateSeconds: 10, report: {}}
groups:
- {id: a, members: [{id: x, pod: p-0, leader: true}, {id: z, pod: p-0}]}`, model.Forecast{Waves: 1, Seconds: 10, BoundSeconds: 10}},
		{"an ordered pool goes one by one", `
spec: {policy: {maxUnavailable: 2}}
pools: [{name: p, replicas: 2, revision: v2, management: OrderedReady}]
pods:
- {name: p-0, uid: u0, pool: p, ordinal: 0, revision: v1, estimateSeconds: 10, report: {}}
- {name: p-1, uid: u1, pool: p, ordinal: 1, revision: v1, estimateSeconds: 10, report: {}}`, model.Forecast{Waves: 2, Seconds: 20, BoundSeconds: 20}},
		{"broken pods go beside the others", `
pools: [{name: p, replicas: 2, revision: v2}]
pods:
- {name: p-0, uid: u0, pool: p, ordinal: 0, revision: v1, estimateSeconds: 10, report: {}}
- {name: p-1, uid: u1, pool: p, ordinal: 1, revision: v1, estimateSeconds: 10, phase: NotStarted, problem: ImagePull, report: null}`, model.Forecast{Waves: 1, Seconds: 10, BoundSeconds: 10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := decodeForecast(t, c.in)
			require.Equal(t, c.want, Decide(s).Forecast)
		})
	}
}

// decodeForecast lets a case name its spec at the top.
func decodeForecast(t *testing.T, in string) model.Snapshot {
	t.Helper()
	head, rest := "", in
	if len(in) > 6 && in[1:6] == "spec:" {
		end := 1
		for in[end] != '\n' {
			end++
		}
		head, rest = in[6:end], in[end:]
	}
	cluster := "cluster: {namespace: prod, name: p}"
	if head != "" {
		cluster = "cluster: {namespace: prod, name: p, spec:" + head + "}"
	}
	return decodeYAML(t, []byte("version: 1\nnow: 2026-11-20T12:00:00Z\n"+cluster+rest))
}

// TestForecastsAreNoLessThanTheirBound on layouts that are harder than those above.
func TestForecastsAreNoLessThanTheirBound(t *testing.T) {
	for _, pods := range []int{3, 30, 300} {
		f := Decide(bigSnapshot(pods)).Forecast
		require.GreaterOrEqual(t, f.Seconds, f.BoundSeconds)
		require.Equal(t, f.Seconds, int64(60*f.Waves), "all take as long, so there are waves")
	}
}
