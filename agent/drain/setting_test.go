package drain

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/engines"
)

type settingEngine struct {
	agenttest.Engine
	asked int
}

func (e *settingEngine) PlanSetting(context.Context, engines.Order) (engines.Setting, error) {
	e.asked++
	return engines.Setting{Name: "allocation", Undo: []byte("all")}, nil
}

func (e *settingEngine) RestoreSetting(context.Context, engines.Setting, time.Time) (engines.Progress, error) {
	return engines.Progress{State: engines.ProgressDone}, nil
}

func TestWhoIsAskedForASetting(t *testing.T) {
	engine := &settingEngine{}
	draining(t, &engine.Engine, func(t *testing.T, d *Drainer) {
		_, err := d.RestoreSetting(t.Context(), engines.Setting{Name: "allocation"}, time.Time{})
		require.ErrorIs(t, err, errNoSetting)

		d.Engine = slotOf(engine)
		will, _, err := d.Plan(t.Context(), handoff("", 0))
		require.NoError(t, err)
		require.Empty(t, will.Setting, "the stop hook has nobody who would put it back")
		require.Zero(t, engine.asked)

		order := handoff("c", 1)
		order.Setting = engines.Setting{Name: "allocation", Undo: []byte("recorded")}
		_, err = d.Drain(order)
		require.NoError(t, err)
		will, _, err = d.Plan(t.Context(), handoff("c", 1))
		require.NoError(t, err)
		require.Equal(t, order.Setting, will.Setting)
		require.Zero(t, engine.asked, "the database already shows our own doing")
	})
}
