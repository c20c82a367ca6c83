package fdbreal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/probe"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

const (
	// recreated is how long after a pod has gone its successor is created.
	recreated = 3 * time.Second
	// callTimeout is that of one round of an agent's order.
	callTimeout = 60 * time.Second
)

// Going is a pod that Rollcall let go, as the test saw it.
type Going struct {
	Pod, Zone string
	At        time.Time
	// Away are the pods of other zones without a running process in that moment.
	Away []string
}

// Rollout carries plans out as a coordinator and its agents do: a claim for each pod that may go, a drain, another look,
// the policy once more for that pod alone, the end of its process, a new pod, and what the drain changed undone.
type Rollout struct {
	*Rollcall
	ctx context.Context
	// Went are the pods that went, in that order.
	Went []Going
	// Wipes is true if pods come back with an empty folder.
	Wipes bool
	// Held are the reasons for which claimed pods waited, and what was said of the database meanwhile.
	Held map[string]bool

	goneAt map[string]time.Time // by claim
	said   string
}

// NewRollout has nothing to do yet.
func NewRollout(ctx context.Context, r *Rollcall) *Rollout {
	return &Rollout{Rollcall: r, ctx: ctx, goneAt: map[string]time.Time{}, Held: map[string]bool{}}
}

// Run goes on until no pod has anything left to do, or limit has passed.
func (o *Rollout) Run(limit time.Duration) error {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(1500 * time.Millisecond) {
		s, plan := o.Ask(o.ctx)
		if len(o.status.Claims) == 0 && len(o.status.ClusterSettings) == 0 && len(plan.Order) == 0 && plan.Phase == model.ClusterDone {
			return nil
		}
		o.say(s, plan)
		for _, step := range plan.Steps {
			o.claim(s, step)
		}
		for _, c := range slices.Clone(o.status.Claims) {
			if err := o.advance(s, c.ID); err != nil {
				return fmt.Errorf("claim of %s: %w", c.Pod, err)
			}
		}
		o.restoreSettings()
	}
	_, plan := o.Ask(o.ctx)
	return fmt.Errorf("not done after %s: claims %v\n%s", limit, o.status.Claims, plan.Text())
}

// say logs a plan that says something new.
func (o *Rollout) say(s model.Snapshot, plan model.Plan) {
	text := fmt.Sprintf("%s (%s) %v, may go %v", s.Health.Verdict, s.Health.Reason, plan.Phase, o.goers(plan))
	o.Held["the database is "+string(s.Health.Verdict)+": "+s.Health.Reason] = true
	if len(plan.Holds) > 0 {
		h := plan.Holds[0]
		text += fmt.Sprintf(", %d held: %s %s: %s", len(plan.Holds), h.Pod, h.Rule, h.Reason)
	}
	if text != o.said {
		o.t.Log(clock(), text)
	}
	o.said = text
}

func (o *Rollout) claim(s model.Snapshot, step model.Step) {
	if slices.ContainsFunc(o.status.Claims, func(c model.Claim) bool { return c.Pod == step.Pod }) {
		return
	}
	p := o.c.Pod(step.Pod)
	o.made++
	partly := map[string]int32{} // what is not full now does not have to be when it is back
	for _, g := range s.Groups {
		active := int32(0)
		for _, m := range g.Members {
			if m.State == model.MemberActive {
				active++
			}
		}
		if int(active) < len(g.Members) {
			partly[g.ID] = active
		}
	}
	o.status.Claims = append(o.status.Claims, model.Claim{
		Groups: partly,
		ID:     fmt.Sprintf("claim-%d", o.made), Pod: step.Pod, UID: step.UID, Action: step.Action, Reason: step.Reason, Prepare: step.Prepare,
		From: o.revision[step.Pod], To: after, Epoch: 1, Phase: model.PhaseClaimed, StartedAt: s.Now, Zone: p.Zone, BeforeTurn: step.BeforeTurn,
	})
}

func (o *Rollout) open(id string) *model.Claim {
	i := slices.IndexFunc(o.status.Claims, func(c model.Claim) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return &o.status.Claims[i]
}

// advance does the next thing for a claim. What fails is tried again in the next round.
func (o *Rollout) advance(s model.Snapshot, id string) error {
	c := o.open(id)
	switch c.Phase {
	case model.PhaseClaimed:
		o.plan(c)
	case model.PhaseDraining:
		return o.drain(c)
	case model.PhaseDrained:
		return o.recheck(s, c)
	case model.PhaseGone:
		o.await(s, c)
	case model.PhaseRestoring:
		o.restore(c)
	case model.PhaseSettling:
		back := policy.Returned(s, *c)
		if !back.Done {
			o.hold(c, "settling: "+back.Why.Reason)
			return nil
		}
		o.t.Logf("%s %s is back", clock(), c.Pod)
		o.release(c.ID)
	}
	return nil
}

func (o *Rollout) order(c *model.Claim) engines.Order {
	kind := engines.Handoff
	if c.Prepare == model.PrepareEvacuate {
		kind = engines.Evacuate
	}
	order := engines.Order{Kind: kind, Claim: c.ID, Epoch: 1}
	for _, record := range o.status.ClusterSettings {
		if slices.Contains(record.Claims, c.ID) {
			order.Setting = engines.Setting{Name: record.Name, Undo: record.Undo}
		}
	}
	return order
}

func (o *Rollout) plan(c *model.Claim) {
	if c.Prepare == model.PrepareNone {
		c.Phase, o.barrier = model.PhaseDrained, time.Now()
		return
	}
	ctx, cancel := context.WithTimeout(o.ctx, callTimeout)
	defer cancel()
	e := o.agents[c.Pod].engine
	undo, err := e.PlanDrain(ctx, o.order(c))
	if err != nil {
		o.t.Logf("%s plan the drain of %s: %v", clock(), c.Pod, err)
		return
	}
	setting, err := e.PlanSetting(ctx, o.order(c))
	if err != nil {
		o.t.Logf("%s plan the setting for %s: %v", clock(), c.Pod, err)
		return
	}
	if setting.Name != "" && !o.record(c.ID, setting) {
		return
	}
	c.Undo, c.Phase = undo, model.PhaseDraining
}

// record adds a claim to the record of a setting, or begins one. It is false while the setting is being put back.
func (o *Rollout) record(claim string, setting engines.Setting) bool {
	for i := range o.status.ClusterSettings {
		if record := &o.status.ClusterSettings[i]; record.Name == setting.Name {
			if slices.ContainsFunc(record.Claims, func(id string) bool { return !o.relies(id) }) {
				return false
			}
			record.Claims = append(record.Claims, claim)
			return true
		}
	}
	o.status.ClusterSettings = append(o.status.ClusterSettings, model.ClusterSetting{Name: setting.Name, Undo: setting.Undo, Claims: []string{claim}})
	return true
}

// relies tells whether a claim still needs its setting: until its pod is live again.
func (o *Rollout) relies(claim string) bool {
	c := o.open(claim)
	return c != nil && c.Phase != model.PhaseRestoring && c.Phase != model.PhaseSettling
}

func (o *Rollout) drain(c *model.Claim) error {
	ctx, cancel := context.WithTimeout(o.ctx, callTimeout)
	defer cancel()
	p, err := o.agents[c.Pod].engine.Drain(ctx, o.order(c), c.Undo)
	switch {
	case err != nil:
		o.t.Logf("%s drain %s: %v", clock(), c.Pod, err)
	case p.State == engines.ProgressRefused:
		return fmt.Errorf("its drain is refused: %s", p.Detail)
	case p.State == engines.ProgressDone:
		o.t.Logf("%s %s is drained (%s)", clock(), c.Pod, c.Prepare)
		c.Phase, o.barrier = model.PhaseDrained, time.Now()
		o.agents[c.Pod].board.SetDrain(probe.DrainStatus{State: rollcallv1.Drain_DRAIN_DRAINED, Claim: c.ID})
	default:
		o.hold(c, "drain: "+p.Detail)
	}
	return nil
}

func (o *Rollout) hold(c *model.Claim, reason string) {
	require.NotEmpty(o.t, reason, "a wait needs a reason")
	if text := c.Pod + " " + reason; !o.Held[text] {
		o.Held[text] = true
		o.t.Logf("%s %s waits: %s", clock(), c.Pod, reason)
	}
}

// recheck asks once more, on what was seen after the last action, and then takes the process.
func (o *Rollout) recheck(s model.Snapshot, c *model.Claim) error {
	if s.Now.Time.Before(o.barrier) {
		return nil
	}
	i := slices.IndexFunc(s.Pods, func(p model.Pod) bool { return p.Name == c.Pod })
	if r := s.Pods[i].Report; r == nil || !r.Fresh || !r.Self {
		return nil
	}
	step, hold := policy.Recheck(s, c.Pod)
	switch {
	case hold != nil:
		o.hold(c, string(hold.Rule)+": "+hold.Reason)
		return nil
	case step == nil:
		return errors.New("it should not go any more")
	}
	p := o.c.Pod(c.Pod)
	g := Going{Pod: p.Name, Zone: p.Zone, At: time.Now()}
	for _, away := range o.c.Away() {
		if away.Zone != p.Zone {
			g.Away = append(g.Away, away.Name+" in "+away.Zone)
		}
	}
	o.Went = append(o.Went, g)
	o.c.Kill(p)
	o.agents[p.Name].close()
	o.agents[p.Name] = nil
	now := time.Now()
	o.goneAt[c.ID], o.departed[p.Name], o.barrier = now, now, now
	c.Phase = model.PhaseGone
	return nil
}

// await creates the pod again and waits until the database has it.
func (o *Rollout) await(s model.Snapshot, c *model.Claim) {
	p := o.c.Pod(c.Pod)
	if o.agents[p.Name] == nil {
		if time.Since(o.goneAt[c.ID]) < recreated {
			return
		}
		if o.Wipes {
			o.c.Wipe(p)
		}
		o.c.Rewrite(p)
		bear(o.t, o.c, p)
		o.c.Run(p)
		o.revision[p.Name] = after
		delete(o.replace, p.Name)
		o.create(p)
		return
	}
	back := policy.Returned(s, *c)
	if back.Joined {
		o.t.Logf("%s %s has joined", clock(), c.Pod)
		c.Phase = model.PhaseRestoring
		return
	}
	o.hold(c, "gone: "+back.Why.Reason)
}

func (o *Rollout) restore(c *model.Claim) {
	if len(c.Undo) == 0 {
		c.Phase = model.PhaseSettling
		return
	}
	ctx, cancel := context.WithTimeout(o.ctx, callTimeout)
	defer cancel()
	p, err := o.agents[c.Pod].engine.Restore(ctx, c.Undo)
	switch {
	case err != nil:
		o.t.Logf("%s restore what the drain of %s has changed: %v", clock(), c.Pod, err)
	case p.State == engines.ProgressDone:
		c.Phase, o.barrier = model.PhaseSettling, time.Now()
	default:
		o.hold(c, "restore: "+p.Detail)
	}
}

func (o *Rollout) release(id string) {
	o.status.Claims = slices.DeleteFunc(o.status.Claims, func(c model.Claim) bool { return c.ID == id })
}

// restoreSettings puts settings back on which no claim relies any more.
func (o *Rollout) restoreSettings() {
	for _, record := range slices.Clone(o.status.ClusterSettings) {
		if slices.ContainsFunc(record.Claims, o.relies) {
			continue
		}
		for _, a := range o.agents {
			if a == nil || a.silent || !a.pod.up {
				continue
			}
			ctx, cancel := context.WithTimeout(o.ctx, callTimeout)
			p, err := a.engine.RestoreSetting(ctx, engines.Setting{Name: record.Name, Undo: record.Undo}, time.Time{})
			cancel()
			if err != nil {
				o.t.Logf("%s put %s back: %v", clock(), record.Name, err)
			} else if p.State == engines.ProgressDone {
				o.barrier = time.Now()
				o.status.ClusterSettings = slices.DeleteFunc(o.status.ClusterSettings, func(s model.ClusterSetting) bool { return s.Name == record.Name })
			}
			break
		}
	}
}
