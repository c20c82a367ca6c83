package guard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// database is a DatabaseCluster that enforces and was healthy once, with changes.
func database(edit ...func(*v1alpha1.DatabaseCluster)) *v1alpha1.DatabaseCluster {
	cluster := &v1alpha1.DatabaseCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "search", UID: "u-search"},
		Spec:       model.Spec{Engine: model.Solr, Guard: model.GuardEnforce},
		Status: v1alpha1.Status{Conditions: []v1alpha1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue},
			{Type: v1alpha1.ConditionInitialized, Status: metav1.ConditionTrue},
		}},
	}
	for _, e := range edit {
		e(cluster)
	}
	return cluster
}

func guards(g model.Guard) func(*v1alpha1.DatabaseCluster) {
	return func(c *v1alpha1.DatabaseCluster) { c.Spec.Guard = g }
}

func deleted(c *v1alpha1.DatabaseCluster) { c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

func neverHealthy(c *v1alpha1.DatabaseCluster) {
	c.Status.Conditions[1].Status = metav1.ConditionFalse
}

func TestModeOf(t *testing.T) {
	for name, c := range map[string]struct {
		cluster *v1alpha1.DatabaseCluster
		want    Mode
	}{
		"enforces":               {database(), Closed},
		"audits":                 {database(guards(model.GuardAudit)), Audited},
		"off":                    {database(guards(model.GuardOff)), Unguarded},
		"a word of the future":   {database(guards("Strict")), Unguarded},
		"never healthy":          {database(neverHealthy), Unguarded},
		"never looked at":        {database(func(c *v1alpha1.DatabaseCluster) { c.Status = v1alpha1.Status{} }), Unguarded},
		"being deleted":          {database(deleted), Unguarded},
		"only observed":          {database(func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Mode = model.ModeObserve }), Unguarded},
		"audits, never healthy":  {database(guards(model.GuardAudit), neverHealthy), Unguarded},
		"audits, being deleted":  {database(guards(model.GuardAudit), deleted), Unguarded},
		"enforces, never Ready":  {database(func(c *v1alpha1.DatabaseCluster) { c.Status.Conditions[0].Status = metav1.ConditionFalse }), Closed},
		"healthy, says somebody": {database(func(c *v1alpha1.DatabaseCluster) { c.Status.Conditions[1].Status = metav1.ConditionUnknown }), Unguarded},
	} {
		require.Equal(t, c.want, ModeOf(c.cluster), name)
	}
}

// pod is search-0 as the cache has it, with the two labels.
func pod(guard, cluster string) kube.Pod {
	return kube.Pod{Namespace: "prod", Name: "search-0", UID: "u0", ResourceVersion: "7", Pool: "search", Guard: guard, GuardCluster: cluster, Shared: "app=search"}
}

func TestLabels(t *testing.T) {
	const keep = "keep"
	terminating, claimed := pod("", ""), pod("", "")
	terminating.Deleted, claimed.Claim = time.Unix(1, 0), "c1"
	open := []model.Claim{{ID: "c1", Pod: "search-0", UID: "u0"}, {ID: "c2", Pod: "search-1", UID: "u1"}}
	leftBehind, of1, opened := pod("", ""), pod("", ""), pod("open", "search")
	leftBehind.Claim, of1.Claim, opened.Claim = "c0", "c2", "c0"
	closedAndClaimed := pod("closed", "search")
	closedAndClaimed.Claim = "c1"
	for name, c := range map[string]struct {
		pod                       kube.Pod
		closed, audited, noLonger string
	}{
		"on sight":                {pod("", ""), "closed", "audit", keep},
		"is closed":               {pod("closed", "search"), keep, "audit", ""},
		"is audited":              {pod("audit", "search"), "closed", keep, ""},
		"opened":                  {pod("open", "search"), keep, keep, ""},
		"opened before we came":   {pod("open", ""), "open", "open", ""},
		"closed by hand":          {pod("closed", ""), "closed", "audit", ""},
		"of another database":     {pod("closed", "books"), "closed", "audit", ""},
		"label without a guard":   {pod("", "search"), "closed", "audit", ""},
		"nonsense":                {pod("ajar", "search"), "closed", "audit", ""},
		"terminating":             {terminating, keep, keep, keep},
		"claimed, without guard":  {claimed, keep, keep, keep},
		"claimed, closed":         {closedAndClaimed, keep, keep, ""},
		"of a claim that is over": {leftBehind, "closed", "audit", keep},
		"of another pod's claim":  {of1, "closed", "audit", keep},
		"opened, claim is over":   {opened, keep, keep, ""},
	} {
		for mode, want := range map[Mode]string{Closed: c.closed, Audited: c.audited, Unguarded: c.noLonger} {
			changes := labelChanges(mode, "search", open, []kube.Pod{c.pod})
			if want == keep {
				require.Empty(t, changes, "%s, %s", name, mode)
				continue
			}
			of := "search"
			if want == "" {
				of = ""
			}
			require.Equal(t, []LabelChange{{Pod: "search-0", UID: "u0", ResourceVersion: "7", Guard: want, Cluster: of}}, changes, "%s, %s", name, mode)
		}
	}
}

var working = Admission{Policy: true, Binding: true, Denies: true}

// closed is the budget as Rollcall makes it, with changes.
func shut(edit ...func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "search-rollcall", UID: "u-budget"}}
	makeClosed(pdb, database())
	for _, e := range edit {
		e(pdb)
	}
	return pdb
}

// chart's is a budget of somebody else.
func charts(selector *metav1.LabelSelector) *policyv1.PodDisruptionBudget {
	one := intstr.FromInt32(1)
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "search-pdb", UID: "u-foreign"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: selector},
	}
}

func app(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

// named selects one pod, by its name.
func named(pod string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"statefulset.kubernetes.io/pod-name": pod}}
}

func TestBudget(t *testing.T) {
	own := func(edit ...func(*policyv1.PodDisruptionBudget)) []*policyv1.PodDisruptionBudget {
		return []*policyv1.PodDisruptionBudget{shut(edit...)}
	}
	both := func(other *policyv1.PodDisruptionBudget) []*policyv1.PodDisruptionBudget {
		return []*policyv1.PodDisruptionBudget{shut(), other}
	}
	expired := func(p *policyv1.PodDisruptionBudget) {
		one := intstr.FromInt32(1)
		p.Spec.MinAvailable, p.Spec.MaxUnavailable = nil, &one
		p.Annotations = map[string]string{v1alpha1.AnnotationGuardExpired: "2026-11-20T12:00:00Z"}
	}
	for name, c := range map[string]struct {
		cluster *v1alpha1.DatabaseCluster
		budgets []*policyv1.PodDisruptionBudget
		want    BudgetStep
		foreign string
	}{
		"none yet":      {database(), nil, CreateBudget, ""},
		"there":         {database(), own(), KeepBudget, ""},
		"audits":        {database(guards(model.GuardAudit)), own(), DeleteBudget, ""},
		"off":           {database(guards(model.GuardOff)), own(), DeleteBudget, ""},
		"off, none":     {database(guards(model.GuardOff)), nil, KeepBudget, ""},
		"never healthy": {database(neverHealthy), nil, KeepBudget, ""},
		"being deleted": {database(deleted), own(), DeleteBudget, ""},
		"expired":       {database(), own(expired), UpdateBudget, ""},
		"only the annotation": {database(), own(func(p *policyv1.PodDisruptionBudget) {
			p.Annotations = map[string]string{v1alpha1.AnnotationGuardExpired: "x"}
		}), UpdateBudget, ""},
		"of a predecessor":       {database(), own(func(p *policyv1.PodDisruptionBudget) { p.OwnerReferences[0].UID = "gone" }), UpdateBudget, ""},
		"without an owner":       {database(), own(func(p *policyv1.PodDisruptionBudget) { p.OwnerReferences = nil }), UpdateBudget, ""},
		"made lenient":           {database(), own(func(p *policyv1.PodDisruptionBudget) { *p.Spec.MinAvailable = intstr.FromInt32(1) }), UpdateBudget, ""},
		"unhealthy ones may go":  {database(), own(func(p *policyv1.PodDisruptionBudget) { *p.Spec.UnhealthyPodEvictionPolicy = policyv1.AlwaysAllow }), UpdateBudget, ""},
		"no word on unhealthy":   {database(), own(func(p *policyv1.PodDisruptionBudget) { p.Spec.UnhealthyPodEvictionPolicy = nil }), UpdateBudget, ""},
		"selects all its pods":   {database(), own(func(p *policyv1.PodDisruptionBudget) { delete(p.Spec.Selector.MatchLabels, v1alpha1.LabelGuard) }), UpdateBudget, ""},
		"foreign, before":        {database(), []*policyv1.PodDisruptionBudget{charts(app("search"))}, KeepBudget, "search-pdb selects search-0"},
		"foreign, after":         {database(), both(charts(app("search"))), DeleteBudget, "search-pdb selects search-0"},
		"foreign, selects all":   {database(), both(charts(&metav1.LabelSelector{})), DeleteBudget, "search-pdb selects search-0"},
		"foreign, selects none":  {database(), both(charts(nil)), KeepBudget, ""},
		"foreign, one pod":       {database(), both(charts(named("search-0"))), DeleteBudget, "search-pdb selects search-0"},
		"foreign, another pod":   {database(), both(charts(named("search-1"))), DeleteBudget, "search-pdb selects search-1"},
		"foreign, no pod of it":  {database(), both(charts(named("search-2"))), KeepBudget, ""},
		"of another application": {database(), both(charts(app("shop"))), KeepBudget, ""},
		"foreign, guard off":     {database(guards(model.GuardOff)), []*policyv1.PodDisruptionBudget{charts(app("search"))}, KeepBudget, ""},
		"has taken our name": {database(), own(func(p *policyv1.PodDisruptionBudget) { p.Labels = nil; p.Spec.Selector = app("shop") }), KeepBudget,
			"search-rollcall has the name"},
	} {
		pods := []kube.Pod{pod("closed", "search"), pod("closed", "search")}
		pods[1].Name, pods[1].UID = "search-1", "u1"
		f := Facts{Objects: kube.ClusterObjects{Cluster: c.cluster, Pods: pods}, Admission: working}
		for _, b := range c.budgets {
			f.Budgets = append(f.Budgets, *budgetOf(b))
		}
		d := Decide(f)
		require.Equal(t, c.want, d.Budget, name)
		if c.foreign == "" {
			require.Empty(t, d.State.ForeignBudget, name)
		} else {
			require.Contains(t, d.State.ForeignBudget, c.foreign, name)
		}
		require.Equal(t, c.want == KeepBudget && c.foreign == "" && ModeOf(c.cluster) == Closed, d.State.Enforcing, name)
	}
}

// What is written is what is taken for closed, whatever it was before.
func TestMakeClosed(t *testing.T) {
	was := charts(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}})
	was.Name, was.Annotations = "search-rollcall", map[string]string{v1alpha1.AnnotationGuardExpired: "x", "kept": "yes"}
	makeClosed(was, database())
	b := budgetOf(was)
	require.True(t, b.Ours && b.Closed && !b.Expired)
	require.Equal(t, types.UID("u-search"), b.Owner)
	require.Equal(t, map[string]string{"kept": "yes"}, was.Annotations)
	require.Equal(t, int32(1_000_000), was.Spec.MinAvailable.IntVal)
	require.Nil(t, was.Spec.MaxUnavailable)
}

// Evictions of Ready pods are refused by a full budget of somebody else, and by any
// two of them.
func TestRefusals(t *testing.T) {
	full := func(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget { return b }
	free := func(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
		b.Status.DisruptionsAllowed = 1
		return b
	}
	unseen := func(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
		b.Generation = 2
		return b
	}
	named := func(b *policyv1.PodDisruptionBudget, name string) *policyv1.PodDisruptionBudget {
		b.Name = name
		return b
	}
	for what, c := range map[string]struct {
		budgets []*policyv1.PodDisruptionBudget
		want    map[string]string
	}{
		"ours":            {[]*policyv1.PodDisruptionBudget{shut()}, nil},
		"full":            {[]*policyv1.PodDisruptionBudget{full(charts(app("search")))}, map[string]string{"search-0": "search-pdb"}},
		"of others":       {[]*policyv1.PodDisruptionBudget{full(charts(app("books")))}, map[string]string{}},
		"one may go":      {[]*policyv1.PodDisruptionBudget{free(charts(app("search")))}, map[string]string{}},
		"not counted yet": {[]*policyv1.PodDisruptionBudget{unseen(charts(app("search")))}, map[string]string{}},
		"two":             {[]*policyv1.PodDisruptionBudget{free(charts(app("search"))), named(free(charts(app("search"))), "other")}, map[string]string{"search-0": "other and search-pdb"}},
	} {
		var budgets []Budget
		for _, b := range c.budgets {
			budgets = append(budgets, *budgetOf(b))
		}
		pods := []kube.Pod{pod("", ""), pod("", "")}
		pods[1].Name = "search-1"
		pods[0].Phase, pods[1].Phase = kube.Ready, kube.Started
		require.Equal(t, c.want, refusals(budgets, pods), what)
	}
}

// A foreign budget is named together with how to be rid of it.
func TestForeignBudgetSaysWhereItComesFrom(t *testing.T) {
	say := func(edit func(*policyv1.PodDisruptionBudget)) string {
		pdb := charts(app("search"))
		edit(pdb)
		return inTheWay(budgetOf(pdb), "search-0")
	}
	chart := say(func(p *policyv1.PodDisruptionBudget) {
		p.Annotations = map[string]string{"meta.helm.sh/release-name": "se"}
		p.Labels = map[string]string{"helm.sh/chart": "solr-9.1"}
	})
	require.Contains(t, chart, "Helm release se (chart solr-9.1)")
	require.Contains(t, chart, "pdb.create=false")
	require.NotContains(t, chart, "delete", "Helm would make it again")
	require.Contains(t, say(func(p *policyv1.PodDisruptionBudget) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "SolrCloud", Name: "se", Controller: new(true)}}
	}), "belongs to SolrCloud/se")
	require.Contains(t, say(func(*policyv1.PodDisruptionBudget) {}), "kubectl -n prod delete poddisruptionbudget search-pdb")
}

func TestNothingIsEnforcedWithoutAllOfIt(t *testing.T) {
	f := Facts{
		Objects:   kube.ClusterObjects{Cluster: database(), Pods: []kube.Pod{pod("closed", "search")}},
		Admission: working, Budgets: []Budget{*budgetOf(shut())},
	}
	require.Equal(t, State{Enforcing: true}, Decide(f).State)
	require.Empty(t, Decide(f).Labels)
	for name, c := range map[string]struct {
		change func(*Facts)
		why    string
		// guarded is true if labels and budgets stay.
		guarded bool
	}{
		"no policy":        {func(f *Facts) { f.Admission.Policy = false }, "no ValidatingAdmissionPolicy rollcall-guard", false},
		"no binding":       {func(f *Facts) { f.Admission.Binding = false }, "no ValidatingAdmissionPolicyBinding rollcall-guard", false},
		"one user":         {func(f *Facts) { f.Admission.OneUser = true }, "use-service-account-credentials", false},
		"relaxed by hand":  {func(f *Facts) { f.Admission.Denies = false }, "does not say Deny", true},
		"expired":          {func(f *Facts) { f.Admission.Expired, f.Admission.Denies = true, false }, "no coordinator was there", true},
		"expired, denying": {func(f *Facts) { f.Admission.Expired = true }, "no coordinator was there", true},
		"no budget":        {func(f *Facts) { f.Budgets = nil }, "PodDisruptionBudget is not there", true},
	} {
		g := f
		c.change(&g)
		d := Decide(g)
		require.False(t, d.State.Enforcing, name)
		require.Contains(t, d.State.Why, c.why, name)
		require.Equal(t, c.guarded, len(d.Labels) == 0, name)
		require.Equal(t, c.guarded, d.Budget != DeleteBudget, name)
	}
	for _, g := range []model.Guard{model.GuardAudit, model.GuardOff} {
		off := f
		off.Objects.Cluster = database(guards(g))
		require.Equal(t, State{}, Decide(off).State, "what nobody asks for is not missing")
	}
}
