package rollout

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// handing is a database whose primary is to hand over, step by step. The API server and the cache do
// at once what they are asked; the answers of the agent are those of the test.
type handing struct {
	*labelled
	t *testing.T
	// order is the one that is under way. It is nil if there is none.
	order *effect.Order
	sent  time.Time
	// stuck is true if no label can be written.
	stuck bool
}

func newHanding(t *testing.T) *handing {
	l := newLabelled(model.RolePrimary, model.RoleReplica, model.RoleReplica)
	claim := model.Claim{ID: "c", Pod: "s-0", UID: "0", Epoch: 1, Action: model.ActionRestart, Prepare: model.PrepareHandoff, Reason: model.ReasonOutdated, Phase: model.PhaseDraining, Undo: []byte("u")}
	l.facts.Snapshot.Pools[0].Revision = "v2"
	for i := range l.facts.Snapshot.Pods[1:] {
		l.pod(i + 1).Revision = "v2"
	}
	l.facts.Record.Claims = []model.Claim{claim}
	l.facts.Snapshot.Cluster.Status.Claims = l.facts.Record.Claims
	l.state.made = map[string]bool{"c": true}
	return &handing{labelled: l, t: t}
}

// step makes one step after a while, and returns what is done: "off", "on", "may stop", "keep".
func (h *handing) step(after time.Duration, results ...effect.Result) string {
	var did []string
	h.now = h.now.Add(after)
	h.facts.Snapshot.Now = model.At(h.now)
	for range 10 {
		state, out := Step(h.state, h.facts, results, h.now)
		h.state, results = state, nil
		for _, e := range out.Effects {
			switch e := e.(type) {
			case effect.LabelRoles:
				if h.stuck {
					results = append(results, effect.RolesLabelled{Err: errors.New("somebody's webhook refuses")})
					continue
				}
				for _, r := range e.Roles {
					h.facts.RoleLabels[r.Pod.UID] = r.Role
					did = append(did, "off")
				}
				if e.Primary.UID != "" {
					h.facts.RoleLabels[e.Primary.UID] = model.RolePrimary
					did = append(did, "on")
				}
				results = append(results, effect.RolesLabelled{Fenced: true, Primary: e.Primary})
			case effect.Drain:
				order := e.Order
				order.NotAfter, h.order, h.sent = h.now.Add(effect.WriteAhead), &order, h.now
				did = append(did, map[bool]string{true: "keep", false: "may stop"}[order.KeepWrites])
				if label := h.facts.RoleLabels["0"]; !order.KeepWrites && label == model.RolePrimary && !h.state.attempts["c"].handover.untold {
					h.t.Errorf("s-0 may stop writes that its label brings it")
				}
			}
		}
		if len(results) == 0 {
			break
		}
		h.now = h.now.Add(10 * time.Millisecond)
		h.facts.Snapshot.Now = model.At(h.now)
	}
	return strings.Join(did, " ")
}

// answer is that of the agent to the order that is under way.
func (h *handing) answer(writes effect.Writes) effect.Result {
	require.NotNil(h.t, h.order)
	res := effect.DrainAnswered{Claim: "c", Began: h.sent, Order: *h.order, Progress: effect.Progress{State: model.DrainRunning, Detail: "a long write", Writes: writes}}
	h.order = nil
	return res
}

// fails is an answer that is lost, or a refusal.
func (h *handing) fails(how string) effect.Result {
	res := h.answer(effect.WritesMayStop).(effect.DrainAnswered)
	res.Progress.State = model.DrainRefused
	if how == "lost" {
		res.Progress, res.Err = effect.Progress{}, errors.New("timeout")
	}
	return res
}

// A primary stops writes only while its pod has no label, and has its label while it is known that
// it does not.
func TestWritesStopWithoutTheLabel(t *testing.T) {
	const untold, mayStop, keptOn, ready = effect.WritesUntold, effect.WritesMayStop, effect.WritesKept, effect.WritesReady
	type turn struct {
		after  time.Duration
		answer any // of the agent: Writes, "lost", "refused", or nil for none; or whether labels can not be written
		want   string
	}
	began := turn{0, nil, "off may stop"}
	for name, turns := range map[string][]turn{
		"it waits, and is told to keep writes": {
			began, {time.Second, mayStop, ""}, {time.Second, nil, "may stop"}, {handoverTime, mayStop, ""}, {time.Second, nil, "keep"},
			{time.Second, keptOn, "on"}, {time.Second, nil, "keep"}, {time.Minute, keptOn, ""}, {time.Second, nil, "keep"},
			{time.Second, ready, "off"}, {time.Second, nil, "may stop"}, {time.Second, mayStop, ""}, {time.Second, nil, "may stop"},
		},
		"it has begun before it is told to keep writes": {
			began, {handoverTime, mayStop, ""}, {time.Second, nil, "keep"}, {time.Second, mayStop, ""}, {time.Second, nil, "keep"}, {10 * time.Second, mayStop, ""},
		},
		"it is paused once it may stop them": {
			began, {10 * time.Second, "lost", ""}, {time.Second, nil, "keep"}, {10 * time.Second, "lost", ""}, {time.Second, nil, "keep"},
			{effect.WriteAhead, "lost", "on"},
		},
		"it is cut off for a second while it keeps them": {
			began, {handoverTime, mayStop, ""}, {time.Second, nil, "keep"}, {time.Second, keptOn, "on"}, {time.Second, nil, "keep"},
			{time.Second, "lost", ""}, {time.Second, nil, "keep"}, {time.Second, ready, "off"}, {time.Second, nil, "may stop"},
		},
		"its label can not be taken off": {
			began, {handoverTime, mayStop, ""}, {time.Second, nil, "keep"}, {time.Second, keptOn, "on"}, {time.Second, nil, "keep"}, {0, true, ""},
			{time.Second, ready, ""}, {time.Second, nil, ""}, {time.Minute, nil, ""}, {0, false, ""}, {lastRetry, nil, "off may stop"},
		},
		"it is ready at once": {
			began, {handoverTime, mayStop, ""}, {time.Second, nil, "keep"}, {time.Second, ready, ""}, {time.Second, nil, "may stop"},
		},
		"the claim is given up while nobody can undo it": {
			began, {time.Second, "refused", ""}, {time.Second, nil, ""}, {effect.WriteAhead - 3*time.Second, nil, ""}, {2 * time.Second, nil, "on"},
		},
		"the claim is given up while it keeps them": {
			began, {handoverTime, mayStop, ""}, {time.Second, nil, "keep"}, {time.Second, keptOn, "on"}, {time.Second, nil, "keep"}, {time.Second, "refused", ""}, {time.Minute, nil, ""},
		},
		"it does not know such orders": {
			began, {time.Second, untold, ""}, {handoverTime, nil, "keep"}, {time.Second, untold, "on"}, {time.Second, nil, "may stop"}, {time.Second, untold, ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHanding(t)
			for i, turn := range turns {
				var results []effect.Result
				switch a := turn.answer.(type) {
				case effect.Writes:
					results = append(results, h.answer(a))
				case bool:
					h.stuck = a
				case string:
					results = append(results, h.fails(a))
				}
				require.Equal(t, turn.want, h.step(turn.after, results...), fmt.Sprint("turn ", i))
			}
		})
	}
}
