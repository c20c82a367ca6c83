package model_test

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

func threePods(t testing.TB) model.Snapshot {
	t.Helper()
	text, err := os.ReadFile("testdata/three_pods.yaml")
	require.NoError(t, err)
	data, err := yaml.YAMLToJSON(text)
	require.NoError(t, err)
	s, err := model.Decode(data)
	require.NoError(t, err)
	return s
}

// Each change makes no sense, and the answer says where.
func TestBadInputNamesTheField(t *testing.T) {
	bad := model.IntOrPercent{Text: "most"}
	none, lessSeconds := int32(-1), int64(-1)
	for want, change := range map[string]func(*model.Snapshot){
		"version":                                func(s *model.Snapshot) { s.Version = 2 },
		"now":                                    func(s *model.Snapshot) { s.Now = model.Time{} },
		"cluster.spec.engine":                    func(s *model.Snapshot) { s.Cluster.Spec.Engine = "Oracle" },
		"cluster.spec.guard":                     func(s *model.Snapshot) { s.Cluster.Spec.Guard = "On" },
		"cluster.spec.update.mode":               func(s *model.Snapshot) { s.Cluster.Spec.Update.Mode = "auto" },
		"cluster.spec.update.method":             func(s *model.Snapshot) { s.Cluster.Spec.Update.Method = "Kill" },
		"cluster.spec.update.adopt":              func(s *model.Snapshot) { s.Cluster.Spec.Update.Adopt = "Yes" },
		"cluster.spec.update.schedule":           func(s *model.Snapshot) { s.Cluster.Spec.Update.Schedule = "Quick" },
		"cluster.spec.update.rollingUpdate":      func(s *model.Snapshot) { s.Cluster.Spec.Update.RollingUpdate = "Sideways" },
		"cluster.spec.update.canary.pods":        func(s *model.Snapshot) { s.Cluster.Spec.Update.Canary.Pods = -1 },
		"cluster.spec.update.canary.soakSeconds": func(s *model.Snapshot) { s.Cluster.Spec.Update.Canary.SoakSeconds = -1 },
		"cluster.spec.update.windows[0].duration": func(s *model.Snapshot) {
			s.Cluster.Spec.Update.Windows = []model.Window{{Schedule: "0 2 * * 6", Duration: "long"}}
		},
		"cluster.spec.update.windows[0].schedule": func(s *model.Snapshot) {
			s.Cluster.Spec.Update.Windows = []model.Window{{Schedule: " ", Duration: "4h"}}
		},
		"cluster.spec.policy.unit":                            func(s *model.Snapshot) { s.Cluster.Spec.Policy.Unit = "Rack" },
		"cluster.spec.policy.maxUnavailable":                  func(s *model.Snapshot) { s.Cluster.Spec.Policy.MaxUnavailable = &bad },
		"cluster.spec.policy.maxShardUnavailable":             func(s *model.Snapshot) { s.Cluster.Spec.Policy.MaxShardUnavailable = &bad },
		"cluster.spec.policy.maxZonesUnavailable":             func(s *model.Snapshot) { s.Cluster.Spec.Policy.MaxZonesUnavailable = &bad },
		"cluster.spec.policy.health":                          func(s *model.Snapshot) { s.Cluster.Spec.Policy.Health = "Yellow" },
		"cluster.spec.policy.soakSeconds":                     func(s *model.Snapshot) { s.Cluster.Spec.Policy.SoakSeconds = -1 },
		"cluster.spec.policy.startSeconds":                    func(s *model.Snapshot) { s.Cluster.Spec.Policy.StartSeconds = math.MaxInt64 },
		"cluster.spec.policy.maxFailed":                       func(s *model.Snapshot) { s.Cluster.Spec.Policy.MaxFailed = -1 },
		"cluster.spec.drain.data.restart":                     func(s *model.Snapshot) { s.Cluster.Spec.Drain.Data.Restart = "Maybe" },
		"cluster.spec.drain.onTimeout":                        func(s *model.Snapshot) { s.Cluster.Spec.Drain.OnTimeout = "Force" },
		"cluster.spec.drain.timeoutSeconds":                   func(s *model.Snapshot) { s.Cluster.Spec.Drain.TimeoutSeconds = -5 },
		"cluster.spec.replacement.updateStrategy":             func(s *model.Snapshot) { s.Cluster.Spec.Replacement.UpdateStrategy = "Sometimes" },
		"cluster.spec.replacement.taints[0].key":              func(s *model.Snapshot) { s.Cluster.Spec.Replacement.Taints = []model.ReplacementTaint{{}} },
		"cluster.spec.replacement.maxConcurrentFailed":        func(s *model.Snapshot) { s.Cluster.Spec.Replacement.MaxConcurrentFailed = &none },
		"cluster.spec.replacement.maxConcurrentMisconfigured": func(s *model.Snapshot) { s.Cluster.Spec.Replacement.MaxConcurrentMisconfigured = &none },
		"cluster.spec.replacement.failureDetectionSeconds":    func(s *model.Snapshot) { s.Cluster.Spec.Replacement.FailureDetectionSeconds = -1 },
		"cluster.spec.replacement.taints[0].durationSeconds": func(s *model.Snapshot) {
			s.Cluster.Spec.Replacement.Taints = []model.ReplacementTaint{{Key: "k", DurationSeconds: &lessSeconds}}
		},
		"cluster.spec.replacement.taints[1].key": func(s *model.Snapshot) {
			s.Cluster.Spec.Replacement.Taints = []model.ReplacementTaint{{Key: "k"}, {Key: "k"}}
		},
		"cluster.spec.overrides[0].rule": func(s *model.Snapshot) {
			s.Cluster.Spec.Overrides = []model.Override{{Rule: "gravity", Pods: []string{"a"}, Reason: "r", Expires: model.At(s.Now.Add(time.Second))}}
		},
		"cluster.spec.overrides[0].pods": func(s *model.Snapshot) {
			s.Cluster.Spec.Overrides = []model.Override{{Rule: model.RuleBusy, Reason: "r", Expires: s.Now}}
		},
		"cluster.spec.overrides[0].reason": func(s *model.Snapshot) {
			s.Cluster.Spec.Overrides = []model.Override{{Rule: model.RuleBusy, Pods: []string{"a"}, Expires: s.Now}}
		},
		"cluster.spec.overrides[0].expires": func(s *model.Snapshot) {
			s.Cluster.Spec.Overrides = []model.Override{{Rule: model.RuleBusy, Pods: []string{"a"}, Reason: "r"}}
		},
		"cluster.engine.settleSeconds":    func(s *model.Snapshot) { s.Cluster.Engine.SettleSeconds = math.NaN() },
		"cluster.engine.minSourceVersion": func(s *model.Snapshot) { s.Cluster.Engine.MinSourceVersion = "old" },
		"cluster.status.claims[solr-2].pod": func(s *model.Snapshot) {
			s.Cluster.Status.Claims = append(s.Cluster.Status.Claims, s.Cluster.Status.Claims[0])
		},
		"cluster.status.claims[solr-2].phase": func(s *model.Snapshot) { s.Cluster.Status.Claims[0].Phase = "Done" },
		"cluster.status.approvals[0].what":    func(s *model.Snapshot) { s.Cluster.Status.Approvals = []model.Approval{{What: "everything"}} },
		"pools":                               func(s *model.Snapshot) { s.Pools = nil },
		"pools[solr].name":                    func(s *model.Snapshot) { s.Pools = append(s.Pools, s.Pools[0]) },
		"pools[solr].replicas":                func(s *model.Snapshot) { s.Pools[0].Replicas = math.MaxInt32 },
		"pools[solr].start":                   func(s *model.Snapshot) { s.Pools[0].Start = -1 },
		"pools[solr].partition":               func(s *model.Snapshot) { s.Pools[0].Partition = -1 },
		"pools[solr].management":              func(s *model.Snapshot) { s.Pools[0].Management = "Random" },
		"pools[solr].strategy": func(s *model.Snapshot) {
			s.Pools[0].Strategy = model.StrategyRollingUpdate
			s.Cluster.Spec.Guard = model.GuardOff
		},
		"pools[solr].ordered":                  func(s *model.Snapshot) { s.Pools[0].Ordered = &none },
		"pools[solr]":                          func(s *model.Snapshot) { s.Pools[0].Refused = "nobody carries it out" },
		"pools[solr].operation":                func(s *model.Snapshot) { s.Pools[0].Operation = "Dance" },
		"pods[solr-0].name":                    func(s *model.Snapshot) { s.Pods[1].Name = "solr-0" },
		"pods[solr-1].ordinal":                 func(s *model.Snapshot) { s.Pods[1].Ordinal = 0 },
		"pods[solr-1].uid":                     func(s *model.Snapshot) { s.Pods[1].UID = "u0" },
		"pods[solr-1].pool":                    func(s *model.Snapshot) { s.Pods[1].Pool = "other" },
		"pods[solr-1].phase":                   func(s *model.Snapshot) { s.Pods[1].Phase = "Running" },
		"pods[solr-1].guard":                   func(s *model.Snapshot) { s.Pods[1].Guard = "Ajar" },
		"pods[solr-1].refused":                 func(s *model.Snapshot) { s.Pods[1].Refused = model.RuleBusy },
		"pods[solr-1].estimateSeconds":         func(s *model.Snapshot) { s.Pods[1].EstimateSeconds = math.Inf(1) },
		"pods[solr-1].mustReplace":             func(s *model.Snapshot) { s.Pods[1].MustReplace = []string{"volume", ""} },
		"pods[solr-1].report.member":           func(s *model.Snapshot) { s.Pods[1].Report.Member = "Alive" },
		"pods[solr-1].report.drain":            func(s *model.Snapshot) { s.Pods[1].Report.Drain = "Dry" },
		"pods[solr-1].report.ageSeconds":       func(s *model.Snapshot) { s.Pods[1].Report.AgeSeconds = -1 },
		"nodes[n1].name":                       func(s *model.Snapshot) { s.Nodes = []model.Node{{Name: "n1"}, {Name: "n1"}} },
		"health.verdict":                       func(s *model.Snapshot) { s.Health.Verdict = "Blue" },
		"groups[books/s1].id":                  func(s *model.Snapshot) { s.Groups[1].ID = "books/s1" },
		"groups[books/s1].kind":                func(s *model.Snapshot) { s.Groups[0].Kind = "Ring" },
		"groups[books/s1].minAvailable":        func(s *model.Snapshot) { s.Groups[0].Kind = model.GroupQuorum },
		"groups[books/s2].minAvailable":        func(s *model.Snapshot) { s.Groups[1].Kind, s.Groups[1].MinAvailable = model.GroupRole, &none },
		"groups[books/s1].members[r0].id":      func(s *model.Snapshot) { s.Groups[0].Members[1].ID = "r0" },
		"groups[books/s1].members[r0].state":   func(s *model.Snapshot) { s.Groups[0].Members[0].State = "Sleepy" },
		"fleet.max":                            func(s *model.Snapshot) { s.Fleet.Max = -1 },
		"cluster.status.claims[solr-2].action": func(s *model.Snapshot) { s.Cluster.Status.Claims[0].Action = "Reboot" },
		"cluster.status.claims[solr-2].reason": func(s *model.Snapshot) { s.Cluster.Status.Claims[0].Reason = "Fun" },
		"pools[solr].version":                  func(s *model.Snapshot) { s.Pools[0].Version = "latest" },
		"pools[solr].runningVersion":           func(s *model.Snapshot) { s.Pools[0].RunningVersion = "old" },
		"pods[other].name":                     func(s *model.Snapshot) { s.Pods[1].Name = "other" },
		"pods[solr-01].name":                   func(s *model.Snapshot) { s.Pods[1].Name = "solr-01" },
		"pods[].name":                          func(s *model.Snapshot) { s.Pods[1].Name = "" },
		"pods[solr-1].conditions[].type":       func(s *model.Snapshot) { s.Pods[1].Conditions = []model.PodCondition{{Since: s.Now}} },
		"pods[solr-1].conditions[PodFailing].since": func(s *model.Snapshot) {
			s.Pods[1].Conditions = []model.PodCondition{{Type: model.ConditionPodFailing}}
		},
	} {
		t.Run(want, func(t *testing.T) {
			s := threePods(t)
			require.Empty(t, model.Validate(&s))
			change(&s)
			problems := model.Validate(&s)
			require.NotEmpty(t, problems)
			fields := []string{}
			for _, p := range problems {
				fields = append(fields, p.Field)
				require.NotEmpty(t, p.Reason)
			}
			want = strings.TrimSpace(want) // two changes can be about one field
			require.Contains(t, fields, want)

			plan := policy.Decide(s)
			require.Empty(t, plan.Steps)
			require.Equal(t, model.RuleBadInput, plan.Holds[0].Rule)
			require.Empty(t, plan.Holds[0].Pod)
			require.True(t, len(problems) > 1 || strings.Contains(plan.Holds[0].Reason, want), plan.Holds[0].Reason)
		})
	}
}

// Of two pods in one place nobody can say which goes first, so there is no order.
func TestTwoPodsInOnePlace(t *testing.T) {
	s := threePods(t)
	s.Pods[1].Ordinal = s.Pods[0].Ordinal
	require.Contains(t, model.Validate(&s), model.InputProblem{
		Field: "pods[" + s.Pods[1].Name + "].ordinal", Reason: "is 0, which pool solr has twice", Identity: true,
	})
	require.Empty(t, policy.Decide(s).Order)
}

func TestManyMembersWithOneName(t *testing.T) {
	s := threePods(t)
	g := &s.Groups[0]
	for range 40 {
		g.Members = append(g.Members, model.Member{State: model.MemberActive, Pod: "solr-0"})
	}
	require.Empty(t, model.Validate(&s), "a member need not have a name")
	g.Members[30].ID = "r0"
	require.Equal(t, "groups[books/s1].members[r0].id", model.Validate(&s)[0].Field)
}

func TestDefaultsOfTheSpec(t *testing.T) {
	quarter, one, failed := model.Percent(25), model.Count(1), int32(1)
	want := model.Spec{
		Update: model.Update{Mode: model.ModeAuto, Method: model.MethodEvict, RollingUpdate: model.RollingUpdateByGuard, Schedule: model.Ordered, Adopt: model.AdoptAsk},
		Guard:  model.GuardEnforce,
		Policy: model.Policy{
			Unit: model.UnitPod, MaxUnavailable: &quarter, MaxShardUnavailable: &one, ZoneKey: "topology.kubernetes.io/zone",
			Health: model.LeastRecoverable, Unprotected: model.PermissionAllow, StartSeconds: 600, ProgressSeconds: 600, MaxFailed: 1, Downgrade: model.PermissionHold,
		},
		Drain: model.Drain{Data: model.DrainData{Restart: model.DataKeep, NodeDrain: model.DataLose}, TimeoutSeconds: 300, EvacuateTimeoutSeconds: 86400, OnTimeout: model.TimeoutHold},
		Replacement: model.Replacement{
			FailureDetectionSeconds: 7200, MaxConcurrentFailed: &failed, TaintReplacementSeconds: 1800, UpdateStrategy: model.UpdateDelete,
		},
	}
	require.Equal(t, want, model.Spec{}.WithDefaults())
	require.Equal(t, want, want.WithDefaults())
	oneAtATime := model.Cluster{Engine: model.EngineFacts{OneAtATime: true}}
	require.Equal(t, model.Count(1), *oneAtATime.SpecWithDefaults().Policy.MaxUnavailable)
	byZone := model.Cluster{Engine: model.EngineFacts{ByZone: true}}
	require.Equal(t, model.UnitZone, byZone.SpecWithDefaults().Policy.Unit)
	byZone.Spec.Policy.Unit = model.UnitPod
	require.Equal(t, model.UnitPod, byZone.SpecWithDefaults().Policy.Unit, "what a person says counts")
	require.Equal(t, want, (&model.Cluster{}).SpecWithDefaults())
	three := model.Count(3)
	set := model.Spec{Policy: model.Policy{MaxUnavailable: &three, Health: model.LeastAny}}.WithDefaults()
	require.Equal(t, &three, set.Policy.MaxUnavailable)
	require.Equal(t, model.LeastAny, set.Policy.Health)
}

func TestVersions(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"9.9.0", "9.10.0", -1},
		{"9.10", "9.10.0", 0},
		{"v9.10.1", "9.10.0", 1},
		{"9.10.0-slim", "9.10.0", 0},
		{"10.0.0", "9.99.99", 1},
		{"8", "8.0.0.1", -1},
		{"9.10.0.broken", "9.10.0", 0},
	} {
		a, ok := model.ParseEngineVersion(c.a)
		require.True(t, ok, c.a)
		b, ok := model.ParseEngineVersion(c.b)
		require.True(t, ok, c.b)
		require.Equal(t, c.want, a.Compare(b), "%s and %s", c.a, c.b)
	}
	for _, text := range []string{"", "latest", "-", ".", "v", "99999999999999999999.1"} {
		_, ok := model.ParseEngineVersion(text)
		require.False(t, ok, text)
	}
}
