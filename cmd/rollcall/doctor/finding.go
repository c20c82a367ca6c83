// Package doctor examines a rendered chart, or the objects of a cluster, before Rollcall changes
// anything. It only reads, and each finding names its fix.
package doctor

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
)

// Severity is the severity of a finding.
type Severity string

// The severities.
const (
	// Error means that Rollcall cannot work, or the database is less safe than without it.
	Error Severity = "error"
	// Warning means that Rollcall works, but something that people expect of it does not.
	Warning Severity = "warning"
	// Info is good to know.
	Info Severity = "info"
)

// Finding is something that is not as it should be.
type Finding struct {
	Severity Severity `json:"severity"`
	// Check is the name of the check, which is stable.
	Check string `json:"check"`
	// Object that it is about, such as "StatefulSet prod/solr".
	Object string `json:"object"`
	// Found says in words what was found, and Fix what to do.
	Found string `json:"found"`
	Fix   string `json:"fix"`

	// sets that it is about, and where each has what it is about, while they are gathered.
	sets    []*appsv1.StatefulSet
	values  []value
	budgets []string
}

// checks run in this order. They are independent, so that one that cannot run does not hide others.
var checks = []struct {
	name string
	ask  func(*Facts) []Finding
}{
	{"manifest", manifest},
	{"spec", spec},
	{"kubernetes-version", kubernetesVersion},
	{"controllers", controllers},
	{"operator", operated},
	{"database-cluster", databaseCluster},
	{"label", label},
	{"claim-labels", claimLabels},
	{"container", container},
	{"port", port},
	{"admission", admission},
	{"agent", agent},
	{"grace-period", gracePeriod},
	{"readiness", readiness},
	{"update-strategy", updateStrategy},
	{"ordered-ready", orderedReady},
	{"single-pod", singlePod},
	{"spread", spread},
	{"zones", zones},
	{"volume", volume},
	{"budget", budget},
	{"network-policy", networkPolicy},
	{"gossip", gossip},
	{"credentials", credentials},
	{"rendered-secret", renderedSecrets},
	{"consent", allowed},
	{"security", secured},
	{"certificates", certificates},
	{"topology", topology},
	{"service", services},
	{"configuration", configuration},
	{"client", client},
	{"localities", localities},
	{"ensemble", ensemble},
	{"reports", reports},
	{"holds", holds},
	{"refusals", refusals},
}

// Names returns the names of all checks, in the order in which they are asked.
func Names() []string {
	names := make([]string, len(checks))
	for i, c := range checks {
		names[i] = c.name
	}
	return names
}

// Examine returns all findings, the worst first, then by check and object.
func Examine(f *Facts) []Finding {
	var out []Finding
	rest := f.withoutOperated()
	for _, c := range checks {
		about := rest
		if c.name == "operator" {
			about = f
		}
		for _, found := range c.ask(about) {
			found.Check = c.name
			out = append(out, found)
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return cmp.Compare(order(a.Severity), order(b.Severity)) })
	return out
}

func order(s Severity) int { return slices.Index([]Severity{Error, Warning, Info}, s) }

// Report is what the doctor says.
type Report struct {
	Checks   []string  `json:"checks"`
	Findings []Finding `json:"findings"`
	// Unread lists what could not be read. What depends on it was not examined.
	Unread []string `json:"unread,omitempty"`
}

// NewReport examines the facts.
func NewReport(f *Facts) Report {
	r := Report{Checks: Names(), Findings: append([]Finding{}, Examine(f)...)}
	if f.Live != nil {
		r.Unread = f.Live.Unread
	}
	return r
}
