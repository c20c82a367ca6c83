package suite

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/solrcloud"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// steered is a rollout that people hold up in every way they have: a pause, a
// window, a canary that waits for consent, and the last pod that does, which an
// override lets through. Then a schedule restarts pods that need nothing else.
func (s *solr) steered(t *testing.T) {
	out := roll(t, rehearsal.Rehearsal{
		On: s.cloud,
		Change: func(ctx context.Context) error {
			if err := s.rollcall(ctx, "pause", "solr"); err != nil {
				return err
			}
			return s.cloud.Touch(ctx, "steered")
		},
		During: func(ctx context.Context, w *witness.Witness) error {
			after := func(restarts int) error {
				if got := len(w.Report().Restarts); got != restarts {
					return fmt.Errorf("%d pods were restarted, want %d", got, restarts)
				}
				return nil
			}
			inHalfADay := time.Now().Add(12 * time.Hour).UTC()
			for _, step := range []func() error{
				func() error { return s.held(ctx, t, "paused") },
				func() error {
					return s.spec(ctx, fmt.Sprintf(`{"update":{"windows":[{"schedule":"%d %d * * *","duration":"1h"}],"canary":{"pods":1,"approve":true},"approveLeader":true}}`,
						inHalfADay.Minute(), inHalfADay.Hour()))
				},
				func() error { return s.rollcall(ctx, "resume", "solr") },
				func() error { return s.held(ctx, t, "outside-window") },
				func() error { return after(0) },
				func() error {
					return s.spec(ctx, `{"update":{"windows":[{"schedule":"* * * * *","duration":"1h","timeZone":"Europe/Oslo"}]}}`)
				},
				func() error { return restarted(ctx, s.bed, w, 1) },
				func() error { return s.held(ctx, t, "canary") },
				func() error { return after(1) },
				func() error { return s.rollcall(ctx, "approve", "solr", "--what", "canary") },
				func() error { return restarted(ctx, s.bed, w, 5) },
				func() error { return s.held(ctx, t, "approval") },
				func() error { return after(5) },
				func() error { return s.override(ctx) },
				func() error { return restarted(ctx, s.bed, w, 6) },
			} {
				if err := step(); err != nil {
					return err
				}
			}
			return nil
		},
	})
	s.wellBehaved(t, out)
	require.NoError(t, out.Witness.ElectedLast())
	events, err := s.bed.Kubectl(t.Context(), "", "get", "events.events.k8s.io", "-n", solrcloud.Namespace, "--field-selector", "reason=OverrideUsed", "-o", "jsonpath={.items[*].note}")
	require.NoError(t, err)
	require.Contains(t, events, "INC-1", "the override is an Event")
	t.Log("OverrideUsed:", events)
	require.NoError(t, s.spec(t.Context(), `{"update":{"windows":null,"canary":null,"approveLeader":null},"overrides":null}`))
}

// scheduled: a schedule restarts pods that are up to date, and nothing once it
// is taken away.
func (s *solr) scheduled(t *testing.T) {
	out := roll(t, rehearsal.Rehearsal{
		On:     s.cloud,
		Change: func(ctx context.Context) error { return s.spec(ctx, `{"update":{"restartSchedule":"* * * * *"}}`) },
		During: func(ctx context.Context, w *witness.Witness) error {
			if err := s.said(ctx, t, "plan", regexp.MustCompile(`RestartRequested|hold +solr-\d pod-budget`)); err != nil {
				return err
			}
			if err := restarted(ctx, s.bed, w, 1); err != nil {
				return err
			}
			return s.spec(ctx, `{"update":{"restartSchedule":null}}`)
		},
		Done: func(ctx context.Context) error {
			if err := s.cloud.RolledOut(ctx, rolloutLimit); err != nil {
				return err
			}
			return s.said(ctx, t, "plan", regexp.MustCompile(`(?m)^order  -$`))
		},
	})
	require.LessOrEqual(t, len(out.Witness.Restarts), 2, "one, and one that was claimed before the schedule went")
	require.LessOrEqual(t, out.Witness.MaxPodsAway, 1)
}

func (s *solr) rollcall(ctx context.Context, verb, name string, flags ...string) error {
	_, err := s.bed.Rollcall(ctx, append([]string{verb, name, "-n", solrcloud.Namespace}, flags...)...)
	return err
}

// spec merges into the DatabaseCluster's spec.
func (s *solr) spec(ctx context.Context, patch string) error {
	_, err := s.bed.Kubectl(ctx, "", "patch", "databasecluster", "solr", "-n", solrcloud.Namespace, "--type=merge", "-p", `{"spec":`+patch+`}`)
	return err
}

// held waits until the plan names the rule, and somebody is held by it.
func (s *solr) held(ctx context.Context, t *testing.T, rule string) error {
	return s.said(ctx, t, "plan", regexp.MustCompile(`(?m)^hold +\S+ `+rule+`: `))
}

// said waits until a command of Rollcall about the database says something.
func (s *solr) said(ctx context.Context, t *testing.T, verb string, want *regexp.Regexp) error {
	return s.bed.Eventually(ctx, want.String(), 4*time.Minute, func(ctx context.Context) error {
		text, err := s.bed.Rollcall(ctx, verb, "solr", "-n", solrcloud.Namespace)
		if err != nil {
			return err
		}
		if !want.MatchString(text) {
			return fmt.Errorf("not yet:\n%s", text)
		}
		t.Logf("%s", text)
		return nil
	})
}

var waitsForConsent = regexp.MustCompile(`(?m)^hold +(solr-\d) approval: `)

// override lets through, by its name, the one pod that waits for consent.
func (s *solr) override(ctx context.Context) error {
	plan, err := s.bed.Rollcall(ctx, "plan", "solr", "-n", solrcloud.Namespace)
	if err != nil {
		return err
	}
	pod := waitsForConsent.FindStringSubmatch(plan)
	if pod == nil {
		return fmt.Errorf("nobody waits for consent:\n%s", plan)
	}
	return s.spec(ctx, fmt.Sprintf(`{"overrides":[{"rule":"approval","pods":[%q],"reason":"INC-1","expires":%q}]}`,
		pod[1], time.Now().Add(10*time.Minute).UTC().Format(time.RFC3339)))
}
