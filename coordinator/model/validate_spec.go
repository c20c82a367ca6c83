package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const specField = "cluster.spec."

func (v *validator) spec(s *Spec) {
	oneOf(v, specField+"engine", s.Engine, append(Engines(), "")...)
	oneOf(v, specField+"guard", s.Guard, GuardEnforce, GuardAudit, GuardOff)
	v.update(&s.Update)
	v.failover(s.Connection.Failover)
	if lag := s.Connection.MaxLagSeconds; lag != 0 {
		within(v, specField+"connection.maxLagSeconds", lag, 1)
	}

	const p = specField + "policy."
	oneOf(v, p+"unit", s.Policy.Unit, UnitPod, UnitZone, UnitAll)
	v.quantity(p+"maxUnavailable", s.Policy.MaxUnavailable)
	v.quantity(p+"maxShardUnavailable", s.Policy.MaxShardUnavailable)
	v.quantity(p+"maxZonesUnavailable", s.Policy.MaxZonesUnavailable)
	oneOf(v, p+"health", s.Policy.Health, LeastGreen, LeastRecoverable, LeastAny)
	oneOf(v, p+"unprotected", s.Policy.Unprotected, PermissionAllow, PermissionHold)
	oneOf(v, p+"downgrade", s.Policy.Downgrade, PermissionAllow, PermissionHold)
	within(v, p+"soakSeconds", s.Policy.SoakSeconds, 0)
	within(v, p+"startSeconds", s.Policy.StartSeconds, 1)
	within(v, p+"progressSeconds", s.Policy.ProgressSeconds, 1)
	atLeast(v, p+"maxFailed", s.Policy.MaxFailed, 1)

	const d = specField + "drain."
	oneOf(v, d+"data.restart", s.Drain.Data.Restart, DataKeep, DataLose)
	oneOf(v, d+"data.nodeDrain", s.Drain.Data.NodeDrain, DataKeep, DataLose)
	oneOf(v, d+"onTimeout", s.Drain.OnTimeout, TimeoutHold, TimeoutProceed)
	within(v, d+"timeoutSeconds", s.Drain.TimeoutSeconds, 1)
	within(v, d+"evacuateTimeoutSeconds", s.Drain.EvacuateTimeoutSeconds, 1)

	v.replacement(&s.Replacement)
}

func (v *validator) update(u *Update) {
	const f = specField + "update."
	oneOf(v, f+"mode", u.Mode, ModeAuto, ModeObserve)
	oneOf(v, f+"method", u.Method, MethodEvict, MethodDelete)
	oneOf(v, f+"rollingUpdate", u.RollingUpdate, RollingUpdateByGuard, RollingUpdateByPartition)
	oneOf(v, f+"schedule", u.Schedule, Ordered, Fast)
	oneOf(v, f+"adopt", u.Adopt, AdoptAsk, AdoptAllow)
	oneOf(v, f+"primary", u.Primary, "", PrimarySwitchover, PrimaryRestartInPlace, PrimaryHold)
	atLeast(v, f+"canary.pods", u.Canary.Pods, 0)
	within(v, f+"canary.soakSeconds", u.Canary.SoakSeconds, 0)
	if u.RestartSchedule != "" && !looksLikeCron(u.RestartSchedule) {
		v.add(f+"restartSchedule", "is %q: must be a cron expression of five fields such as \"0 3 * * 0\", or one such as @weekly", u.RestartSchedule)
	}
	for i, w := range u.Windows {
		field := fmt.Sprintf("%swindows[%d].", f, i)
		if strings.TrimSpace(w.Schedule) == "" {
			v.add(field+"schedule", "is empty: must be a cron expression")
		}
		if d, err := time.ParseDuration(w.Duration); err != nil || d <= 0 {
			v.add(field+"duration", "is %q: must be a length of time such as 4h", w.Duration)
		}
	}
}

// failover does not repeat the value, because a URL may contain a password.
func (v *validator) failover(manager string) {
	if manager == "" || manager == FailoverExternal {
		return
	}
	rest, https := strings.CutPrefix(manager, "https://")
	rest, http := strings.CutPrefix(rest, "http://")
	host, _, _ := strings.Cut(rest, "/")
	if https == http || host == "" || strings.ContainsAny(host, "@ ") {
		v.add(specField+"connection.failover", "is neither %s nor the http or https URL of a failover manager, without user and password", FailoverExternal)
	}
}

// looksLikeCron rejects what cannot be a cron expression. The expression is parsed and
// evaluated elsewhere.
func looksLikeCron(text string) bool {
	fields := strings.Fields(text)
	if len(fields) > 0 && (strings.HasPrefix(fields[0], "TZ=") || strings.HasPrefix(fields[0], "CRON_TZ=")) {
		fields = fields[1:]
	}
	return len(fields) == 5 || len(fields) == 1 && len(fields[0]) > 1 && fields[0][0] == '@'
}

func (v *validator) replacement(r *Replacement) {
	const f = specField + "replacement."
	oneOf(v, f+"updateStrategy", r.UpdateStrategy, UpdateDelete, UpdateReplaceTransactionSystem, UpdateReplace)
	within(v, f+"failureDetectionSeconds", r.FailureDetectionSeconds, 1)
	atLeast(v, f+"maxConcurrentFailed", *r.MaxConcurrentFailed, 0)
	if n := r.MaxConcurrentMisconfigured; n != nil {
		atLeast(v, f+"maxConcurrentMisconfigured", *n, 1)
	}
	within(v, f+"taintReplacementSeconds", r.TaintReplacementSeconds, 1)
	for i, t := range r.Taints {
		if t.Key == "" {
			v.add(fmt.Sprintf("%staints[%d].key", f, i), "is empty: must be a taint's key or \"*\"")
		}
		if slices.ContainsFunc(r.Taints[:i], func(o ReplacementTaint) bool { return o.Key == t.Key }) {
			v.add(fmt.Sprintf("%staints[%d].key", f, i), "is %s, which is given twice", t.Key)
		}
		if t.DurationSeconds != nil {
			atLeast(v, fmt.Sprintf("%staints[%d].durationSeconds", f, i), *t.DurationSeconds, 0)
		}
	}
}

func (v *validator) overrides(list []Override, now time.Time) {
	for i := range list {
		for _, flaw := range list[i].Flaws(now) {
			v.add(fmt.Sprintf("%soverrides[%d].%s", specField, i, flaw.Field), "%s", flaw.What)
		}
	}
}
