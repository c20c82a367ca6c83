package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func spec(change func(*model.Spec)) edit {
	return func(in *Input) {
		in.Kube.Cluster = in.Kube.Cluster.DeepCopy()
		change(&in.Kube.Cluster.Spec)
	}
}

func automatic(s *model.Spec) { s.Replacement.Enabled = true }

// one is the snapshot's entry for a pod.
func one(t *testing.T, in Input, pod string) model.Pod {
	for _, p := range Join(in).Pods {
		if p.Name == pod {
			return p
		}
	}
	t.Fatalf("no pod %s", pod)
	return model.Pod{}
}

func TestMustReplace(t *testing.T) {
	pod := kube.Shape{NodeSelector: "disk=ssd", Volumes: "data", Security: "fsGroup 1 -, db 1:1", Requests: kube.Requests{MilliCPU: 1, Memory: 1}}
	none := func(*model.Spec) {}
	all := func(s *model.Spec) {
		s.Replacement.OnResourceIncrease, s.Replacement.OnSecurityContextChange = true, true
	}
	for name, c := range map[string]struct {
		template func(*kube.Shape)
		spec     func(*model.Spec)
		replaced bool
		updated  bool
		want     []string
	}{
		"nothing changed":           {func(*kube.Shape) {}, none, true, false, []string{}},
		"node selector":             {func(s *kube.Shape) { s.NodeSelector = "disk=nvme" }, none, true, false, []string{"node selector"}},
		"it has the template":       {func(s *kube.Shape) { s.NodeSelector = "disk=nvme" }, none, true, true, []string{}},
		"a restart brings it":       {func(s *kube.Shape) { s.NodeSelector = "disk=nvme" }, all, false, false, []string{}},
		"another volume":            {func(s *kube.Shape) { s.Volumes = "data,logs" }, none, true, false, []string{"volume claim templates"}},
		"volumes are in no version": {func(s *kube.Shape) { s.Volumes = "data,logs" }, none, true, true, []string{"volume claim templates"}},
		"more memory":               {func(s *kube.Shape) { s.Requests.Memory = 2 }, all, false, false, []string{"resources"}},
		"more for init containers":  {func(s *kube.Shape) { s.InitRequests.MilliCPU = 2 }, all, false, false, []string{"resources"}},
		"more, and not asked for":   {func(s *kube.Shape) { s.Requests.Memory = 2 }, none, true, false, []string{}},
		"less memory":               {func(s *kube.Shape) { s.Requests.Memory = 0 }, all, false, false, []string{}},
		"another owner":             {func(s *kube.Shape) { s.Security = "fsGroup 2 -, db 1:1" }, all, false, false, []string{"security context"}},
		"another owner, not asked":  {func(s *kube.Shape) { s.Security = "fsGroup 2 -, db 1:1" }, none, true, false, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			in := made(spec(c.spec), editPod(1, func(k *kube.Pod) {
				k.Shape = pod
				if c.updated {
					k.Revision = "v2"
				}
			}))
			in.Replaced = c.replaced
			in.Kube.Pools[0].Shape = pod
			c.template(&in.Kube.Pools[0].Shape)
			require.Equal(t, c.want, one(t, in, "search-1").MustReplace)
		})
	}
}

func TestConditions(t *testing.T) {
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	phase := func(phase kube.Phase, since time.Time) edit {
		return editPod(1, func(k *kube.Pod) { k.Phase, k.Since, k.Created = phase, since, ago(3*time.Hour) })
	}
	taints := func(list ...model.ReplacementTaint) edit {
		return spec(func(s *model.Spec) { automatic(s); s.Replacement.Taints = list })
	}
	tainted := func(in *Input) {
		in.Kube.Nodes["node1"] = kube.Node{Name: "node1", Taints: []kube.Taint{{Key: "example.com/maintenance"}}}
	}
	excluded := func(r *rollcallv1.Report) { r.Excluded = true }
	hour := int64(3600)
	for name, c := range map[string]struct {
		edits []edit
		want  map[string]time.Time
	}{
		"all is well":             {[]edit{spec(automatic)}, nil},
		"nobody asked for it":     {[]edit{phase(kube.Failed, ago(time.Hour))}, nil},
		"failing":                 {[]edit{spec(automatic), phase(kube.Failed, ago(time.Hour))}, map[string]time.Time{"PodFailing": ago(time.Hour)}},
		"not ready":               {[]edit{spec(automatic), phase(kube.Started, ago(time.Hour))}, map[string]time.Time{"PodFailing": ago(time.Hour)}},
		"ending for a moment":     {[]edit{spec(automatic), phase(kube.Terminating, ago(4*time.Minute))}, nil},
		"ending for long":         {[]edit{spec(automatic), phase(kube.Terminating, ago(6*time.Minute))}, map[string]time.Time{"PodFailing": ago(time.Minute)}},
		"pending":                 {[]edit{spec(automatic), phase(kube.Pending, ago(time.Hour))}, map[string]time.Time{"PodPending": ago(3 * time.Hour)}},
		"its image is not there":  {[]edit{spec(automatic), phase(kube.NotStarted, ago(time.Hour))}, map[string]time.Time{"PodPending": ago(3 * time.Hour)}},
		"its volume is not there": {[]edit{spec(automatic), phase(kube.Pending, ago(time.Hour)), editPod(1, func(k *kube.Pod) { k.NoVolume = true })}, map[string]time.Time{"PodPending": ago(3 * time.Hour), "MissingPVC": noon}},
		"missing":                 {[]edit{spec(automatic), dropPod(1)}, map[string]time.Time{"MissingPod": noon}},
		"no process":              {[]edit{spec(automatic), says(1, func(r *rollcallv1.Report) { r.Member = notLive })}, map[string]time.Time{"MissingProcesses": noon}},
		"excluded":                {[]edit{spec(automatic), says(1, excluded)}, map[string]time.Time{"ProcessIsMarkedAsExcluded": noon}},
		"excluded, as it is replaced": {[]edit{spec(automatic), says(1, excluded), func(in *Input) {
			in.Kube.Cluster.Status.Claims = []model.Claim{{ID: "c", Pod: "search-1", UID: "u1", Action: model.ActionReplace}}
		}}, nil},
		"excluded, by an old report": {[]edit{spec(automatic), says(1, excluded), observedAt(1, ago(time.Hour))}, nil},
		"tainted":                    {[]edit{taints(model.ReplacementTaint{Key: "*", DurationSeconds: &hour}), tainted}, map[string]time.Time{"NodeTaintDetected": noon}},
		"tainted by that very key":   {[]edit{taints(model.ReplacementTaint{Key: "example.com/maintenance", DurationSeconds: &hour}), tainted}, map[string]time.Time{"NodeTaintDetected": noon}},
		"tainted by another key":     {[]edit{taints(model.ReplacementTaint{Key: "other", DurationSeconds: &hour}), tainted}, nil},
		"that option is off":         {[]edit{taints(model.ReplacementTaint{Key: "*"}), tainted}, nil},
		"noticed before": {[]edit{spec(automatic), dropPod(1), func(in *Input) {
			in.Noticed = []v1alpha1.PodCondition{{Pod: "search-1", Type: "MissingPod", Since: model.At(ago(time.Minute))}}
		}}, map[string]time.Time{"MissingPod": ago(time.Minute)}},
		"noticed by a predecessor": {[]edit{spec(automatic), dropPod(1), func(in *Input) {
			in.Noticed = []v1alpha1.PodCondition{{Pod: "search-1", Type: "MissingPod", Since: model.At(ago(time.Minute))}}
			in.Kube.Cluster.Status.PodConditions = []v1alpha1.PodCondition{
				{Pod: "search-1", Type: "MissingPod", Since: model.At(ago(time.Hour))}, {Pod: "search-2", Type: "MissingPod", Since: model.At(ago(2 * time.Hour))},
				{Pod: "search-1", Type: "MissingPVC", Since: model.At(ago(3 * time.Hour))}}
		}}, map[string]time.Time{"MissingPod": ago(time.Hour)}},
	} {
		t.Run(name, func(t *testing.T) {
			in := made(c.edits...)
			have := map[string]time.Time{}
			for _, condition := range one(t, in, "search-1").Conditions {
				have[condition.Type] = condition.Since.Time
			}
			require.Len(t, have, len(c.want))
			for kind, since := range c.want {
				require.True(t, since.Equal(have[kind]), "%s since %s", kind, have[kind])
			}
			require.Empty(t, one(t, in, "search-0").Conditions)
		})
	}
}

// When one was seen first says nothing of another, and what a pod tolerates, whatever its effect,
// is told.
func TestEachTaintIsSeenByItself(t *testing.T) {
	hour := int64(3600)
	old, fresh := kube.Taint{Key: "old", Effect: corev1.TaintEffectNoSchedule}, kube.Taint{Key: "fresh", Effect: corev1.TaintEffectNoSchedule}
	in := made(
		spec(func(s *model.Spec) {
			automatic(s)
			s.Replacement.Taints = []model.ReplacementTaint{{Key: "*", DurationSeconds: &hour}}
		}),
		editPod(1, func(k *kube.Pod) { k.Tolerations = `[{"key":"old","operator":"Exists","effect":"NoSchedule"}]` }),
		func(in *Input) {
			in.Kube.Nodes["node1"] = kube.Node{Name: "node1", Taints: []kube.Taint{old, fresh}}
			in.Noticed = []v1alpha1.PodCondition{
				{Pod: "search-1", Type: "NodeTaintDetected", Key: "old", Since: model.At(noon.Add(-time.Hour))},
				{Pod: "search-1", Type: "NodeTaintDetected", Since: model.At(noon.Add(-2 * time.Hour))},
			}
		},
	)
	s, _ := Look(in)
	pod := one(t, in, "search-1")
	require.Equal(t, []model.PodCondition{
		{Type: "NodeTaintDetected", Key: "fresh", Since: model.At(noon)},
		{Type: "NodeTaintDetected", Key: "old", Since: model.At(noon.Add(-time.Hour))},
	}, pod.Conditions)
	require.Equal(t, []string{"old"}, pod.Tolerates)
	written := Conditions(s, noon)
	require.Equal(t, []string{"fresh", "old"}, []string{written[0].Key, written[1].Key})

	node := in.Kube.Nodes["node1"]
	node.Taints = append(node.Taints, kube.Taint{Key: "old", Effect: corev1.TaintEffectNoExecute})
	in.Kube.Nodes["node1"] = node
	require.Empty(t, one(t, in, "search-1").Tolerates, "one of the two it does not tolerate")
}

// A taint counts from when it was set, not from when somebody first looked; where
// nobody noted that, from when it was first seen, and never from before the pod.
func TestTaintsCountFromWhenTheyWereSet(t *testing.T) {
	hour := int64(3600)
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	for name, c := range map[string]struct {
		taints        []time.Time // of one key, with different effects
		seen, created time.Time
		want          time.Time
	}{
		"set long before it was seen":    {[]time.Time{ago(2 * time.Hour)}, time.Time{}, ago(9 * time.Hour), ago(2 * time.Hour)},
		"set before, and seen later":     {[]time.Time{ago(2 * time.Hour)}, ago(time.Hour), ago(9 * time.Hour), ago(2 * time.Hour)},
		"set again since it was seen":    {[]time.Time{ago(time.Minute)}, ago(time.Hour), ago(9 * time.Hour), ago(time.Minute)},
		"the pod came later":             {[]time.Time{ago(2 * time.Hour)}, time.Time{}, ago(time.Hour), ago(time.Hour)},
		"nobody noted when":              {[]time.Time{{}}, ago(time.Hour), ago(9 * time.Hour), ago(time.Hour)},
		"seen over an earlier pod":       {[]time.Time{{}}, ago(2 * time.Hour), ago(time.Hour), ago(time.Hour)},
		"nobody noted, first seen now":   {[]time.Time{{}}, time.Time{}, ago(9 * time.Hour), noon},
		"set, says a clock that is fast": {[]time.Time{noon.Add(time.Hour)}, time.Time{}, ago(9 * time.Hour), noon},
		"the older one of two":           {[]time.Time{ago(time.Minute), ago(2 * time.Hour)}, time.Time{}, ago(9 * time.Hour), ago(2 * time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			in := made(
				spec(func(s *model.Spec) {
					automatic(s)
					s.Replacement.Taints = []model.ReplacementTaint{{Key: "*", DurationSeconds: &hour}}
				}),
				editPod(1, func(k *kube.Pod) { k.Created = c.created }),
				func(in *Input) {
					node := kube.Node{Name: "node1"}
					for i, since := range c.taints {
						effect := []corev1.TaintEffect{corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule}[i]
						node.Taints = append(node.Taints, kube.Taint{Key: "example.com/maintenance", Effect: effect, Since: since})
					}
					in.Kube.Nodes["node1"] = node
					if !c.seen.IsZero() {
						in.Noticed = []v1alpha1.PodCondition{{Pod: "search-1", Type: "NodeTaintDetected", Key: "example.com/maintenance", Since: model.At(c.seen)}}
					}
				})
			got := one(t, in, "search-1").Conditions
			require.Len(t, got, 1)
			require.True(t, c.want.Equal(got[0].Since.Time), "%s, want %s", got[0].Since, c.want)
		})
	}
}

func dropPod(i int) edit {
	return func(in *Input) { in.Kube.Pods = append(in.Kube.Pods[:i:i], in.Kube.Pods[i+1:]...) }
}

// A condition begins at the look that saw it first, however often the pod is looked
// at, so a snapshot that stands says nothing else.
func TestConditionsKeepTheirBeginning(t *testing.T) {
	in := made(spec(automatic), dropPod(1))
	s, basis := Look(in)
	in.Noticed, in.Now = Conditions(s, in.Now), in.Now.Add(time.Second)
	require.True(t, basis.Stands(in))
	require.True(t, noon.Equal(one(t, in, "search-1").Conditions[0].Since.Time))
	require.Empty(t, Conditions(s, noon.Add(-time.Second)), "too young to be written down")
	require.Equal(t, []v1alpha1.PodCondition{{Pod: "search-1", Type: "MissingPod", Since: model.At(noon)}}, Conditions(s, noon))
}

func TestMarks(t *testing.T) {
	marked := noon.Add(-time.Minute)
	emptied := model.At(noon)
	p := one(t, made(editPod(1, func(k *kube.Pod) { k.Replace = marked })), "search-1")
	require.True(t, marked.Equal(p.Removal.Marked.Time))
	require.False(t, p.Removal.Excluded)
	require.True(t, one(t, made(editPod(1, func(k *kube.Pod) { k.NeverReplace = true })), "search-1").Exempt)
	require.True(t, one(t, made(editPod(1, func(k *kube.Pod) { k.Restart = true })), "search-1").Restart)
	require.False(t, one(t, made(), "search-1").Restart)
	for name, c := range map[string]struct {
		claim model.Claim
		want  bool
	}{
		"emptied":          {model.Claim{UID: "u1", Action: model.ActionReplace, EmptiedAt: &emptied}, true},
		"not emptied":      {model.Claim{UID: "u1", Action: model.ActionReplace}, false},
		"of an older pod":  {model.Claim{UID: "u9", Action: model.ActionReplace, EmptiedAt: &emptied}, false},
		"of another pod":   {model.Claim{UID: "u2", Action: model.ActionReplace, EmptiedAt: &emptied}, false},
		"it is no removal": {model.Claim{UID: "u1", Action: model.ActionRestart, EmptiedAt: &emptied}, false},
	} {
		c.claim.ID, c.claim.Pod = "c", "search-1"
		in := made(func(in *Input) { in.Kube.Cluster.Status.Claims = []model.Claim{c.claim} })
		require.Equal(t, c.want, one(t, in, "search-1").Removal.Excluded, name)
	}
}
