package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// cutOff is an agent that cannot be reached for a while, and may carry out until then what
// it was told last. A silent one lets each call last until its context ends.
type cutOff struct {
	*agents
	pod    string
	cut    func() bool
	silent bool
	until  time.Time // of the last order that it got
	by     []string  // who undid, with what was left of that time
}

func (c *cutOff) away(ctx context.Context, to effect.Target) error {
	switch {
	case to.Pod != c.pod || !c.cut():
		return ctx.Err() // as over a network: nobody is asked when the time is up
	case c.silent:
		<-ctx.Done()
		return ctx.Err()
	}
	return errors.New("cut off")
}

func (c *cutOff) Drain(ctx context.Context, to effect.Target, o effect.Order, undo []byte) (effect.Progress, error) {
	if err := c.away(ctx, to); err != nil {
		return effect.Progress{}, err
	}
	if to.Pod == c.pod {
		c.w.mu.Lock()
		c.until = o.NotAfter
		c.w.mu.Unlock()
	}
	return c.agents.Drain(ctx, to, o, undo)
}

func (c *cutOff) Fresh(ctx context.Context, to effect.Target) error {
	if err := c.away(ctx, to); err != nil {
		return err
	}
	return c.agents.Fresh(ctx, to)
}

func (c *cutOff) Restore(ctx context.Context, to effect.Target, claim string, epoch int64, undo []byte) (bool, error) {
	if err := c.away(ctx, to); err != nil {
		return false, err
	}
	c.w.mu.Lock()
	c.by = append(c.by, fmt.Sprintf("%s %v", to.Pod, time.Now().After(c.until)))
	c.w.mu.Unlock()
	return c.agents.Restore(ctx, to, claim, epoch, undo)
}

// startWith is start with other agents.
func (p *process) startWith(agents AgentClient) {
	require.NoError(p.w.t, p.start())
	cluster, _ := p.w.server.Cluster(namespace, name)
	require.NoError(p.w.t, p.lead(cluster, agents))
}

// undone returns who has undone something.
func (c *cutOff) undone() []string {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return slices.Clone(c.by)
}

// untilUndone returns what was said of s-2 until somebody had undone something.
func (p *process) untilUndone(c *cutOff) string {
	words := map[string]bool{}
	for began := time.Now(); len(c.undone()) == 0 && time.Since(began) < 10*time.Minute; {
		out, leads := p.pass()
		require.True(p.w.t, leads)
		words[out.Waiting["s-2"]] = true
		time.Sleep(100 * time.Millisecond)
	}
	p.kill()
	p.leader.Wait()
	return fmt.Sprint(words)
}

// Each look sends an order that its agent may carry out for a while. Another agent undoes
// only after the last of them.
func TestNobodyElseUndoesWhileTheLastOrderIsGood(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.onDrain = func(effect.Target, effect.Order) (effect.Progress, error) {
			w.verdict = model.VerdictRed // so it is held
			return effect.Progress{State: model.DrainDone}, nil
		}
		p := newProcess(w, 0, false)
		began := time.Now()
		c := &cutOff{agents: p.agents, pod: "s-2", cut: func() bool { return time.Since(began) > 29*time.Second }}
		p.startWith(c)
		words := p.untilUndone(c)
		require.Equal(t, []string{"s-0 true"}, c.undone())
		require.Contains(t, words, "; the drain is not undone yet: undo the drain through s-2: cut off")
		require.Equal(t, []string{"restore of a pod that is there, by another's agent"}, w.wrong, "by then it may be")
		require.Empty(t, w.applied)
	})
}

// The node of a drained pod is cut off, so that calls to its agent last for as long as they may.
// Its claim is given up, and another agent undoes it once the orders are over.
func TestDrainOnACutOffNodeIsUndoneByOthers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		prepared := false
		w.onDrain = func(to effect.Target, _ effect.Order) (effect.Progress, error) {
			prepared = prepared || to.Pod == "s-2"
			return effect.Progress{State: model.DrainDone}, nil
		}
		p := newProcess(w, 0, false)
		c := &cutOff{agents: p.agents, pod: "s-2", silent: true, cut: func() bool { w.mu.Lock(); defer w.mu.Unlock(); return prepared }}
		p.startWith(c)
		p.untilUndone(c)
		require.Equal(t, []string{"s-0 true"}, c.undone())
		require.Empty(t, w.applied)
	})
}

// unheard is an agent whose first answer is lost, and that is cut off after it.
type unheard struct{ *cutOff }

func (u unheard) Drain(ctx context.Context, to effect.Target, o effect.Order, undo []byte) (effect.Progress, error) {
	p, err := u.cutOff.Drain(ctx, to, o, undo)
	if err == nil && to.Pod == u.pod {
		err = errors.New("cut off")
	}
	return p, err
}

// Another pod's agent may be carrying out the order to empty a pod though that pod has gone: nobody undoes before.
func TestAnOrderToEmptyAnotherOutlastsItsPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(10 * time.Second)
		w := newStrandedWorld(t)
		p := newProcess(w, 0, false)
		c := &cutOff{agents: p.agents, pod: "s-0", silent: true}
		c.cut = func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return !c.until.IsZero()
		}
		require.NoError(t, p.start())
		p.leader.options.Agents = unheard{c}
		var ordered time.Time
		for began := time.Now(); len(c.undone()) == 0 && time.Since(began) < time.Minute; time.Sleep(100 * time.Millisecond) {
			if c.cut() && ordered.IsZero() { // a person gives up its volume, and the pod
				ordered = time.Now()
				admin := w.server.Client(nil).Kubernetes.CoreV1()
				require.NoError(t, admin.PersistentVolumeClaims(namespace).Delete(t.Context(), diskOf("s-1"), metav1.DeleteOptions{}))
				require.NoError(t, admin.Pods(namespace).Delete(t.Context(), "s-1", metav1.DeleteOptions{}))
			}
			_, leads := p.pass()
			require.True(t, leads)
		}
		p.kill()
		p.leader.Wait()
		require.Equal(t, []string{"s-1 true"}, c.undone(), "%s after the order", time.Since(ordered))
	})
}
