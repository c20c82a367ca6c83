package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return parsed
}

func TestWindowAt(t *testing.T) {
	saturday := model.Window{Schedule: "0 2 * * 6", Duration: "4h", TimeZone: "Europe/Oslo"}
	tests := []struct {
		name    string
		windows []model.Window
		now     string
		open    bool
		next    string // empty: never
	}{
		{"without windows always open", nil, "2026-11-20T12:00:00Z", true, ""},
		{"before", []model.Window{saturday}, "2026-11-20T12:00:00Z", false, "2026-11-21T01:00:00Z"},
		{"begins", []model.Window{saturday}, "2026-11-21T01:00:00Z", true, "2026-11-21T05:00:00Z"},
		{"within", []model.Window{saturday}, "2026-11-21T03:30:00Z", true, "2026-11-21T05:00:00Z"},
		{"ends", []model.Window{saturday}, "2026-11-21T05:00:00Z", false, "2026-11-28T01:00:00Z"},
		{"summer time", []model.Window{saturday}, "2026-07-04T00:00:00Z", true, "2026-07-04T04:00:00Z"},
		{"one begins before another ends", []model.Window{
			{Schedule: "0 2 * * *", Duration: "2h"}, {Schedule: "30 3 * * *", Duration: "1h"},
		}, "2026-11-20T02:10:00Z", true, "2026-11-20T04:30:00Z"},
		{"one begins as another ends", []model.Window{
			{Schedule: "0 2 * * *", Duration: "2h"}, {Schedule: "0 4 * * *", Duration: "1h"},
		}, "2026-11-20T02:10:00Z", true, "2026-11-20T05:00:00Z"},
		{"the nearest of two", []model.Window{
			{Schedule: "0 2 * * *", Duration: "1h"}, {Schedule: "0 20 * * *", Duration: "1h"},
		}, "2026-11-20T12:00:00Z", false, "2026-11-20T20:00:00Z"},
		{"longer than a week", []model.Window{{Schedule: "0 0 1 * *", Duration: "240h"}}, "2026-11-09T12:00:00Z", true, "2026-11-11T00:00:00Z"},
		{"one that cannot be read is never open", []model.Window{{Schedule: "whenever", Duration: "4h"}}, "2026-11-20T12:00:00Z", false, ""},
		{"a day that never comes", []model.Window{{Schedule: "0 0 30 2 *", Duration: "4h"}}, "2026-11-20T12:00:00Z", false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			state := WindowAt(tt.windows, at(t, tt.now))
			require.Equal(t, tt.open, state.Open)
			if tt.next == "" {
				require.Nil(t, state.NextChange)
				return
			}
			require.NotNil(t, state.NextChange)
			require.Equal(t, tt.next, state.NextChange.Format(time.RFC3339))
		})
	}
}

// Windows that follow each other for ever are open, and asking costs little.
func TestWindowWithoutEnd(t *testing.T) {
	for _, duration := range []string{"2m", "744h"} {
		state := WindowAt([]model.Window{{Schedule: "* * * * *", Duration: duration}}, at(t, "2026-11-20T12:00:30Z"))
		require.True(t, state.Open)
		require.NotNil(t, state.NextChange)
	}
}

func TestSpecError(t *testing.T) {
	good := model.Window{Schedule: "@daily", Duration: "90m"}
	require.NoError(t, SpecError(updating(model.Update{Windows: []model.Window{good}})))
	for text, w := range map[string]model.Window{
		`update.windows[1].schedule: "0 25 * * *"`: {Schedule: "0 25 * * *", Duration: "1h"},
		`update.windows[1].schedule: "@every 1h"`:  {Schedule: "@every 1h", Duration: "1h"},
		`update.windows[1].duration: "4"`:          {Schedule: "@daily", Duration: "4"},
		`update.windows[1].duration: "-1h"`:        {Schedule: "@daily", Duration: "-1h"},
		`update.windows[1].duration: "1000h"`:      {Schedule: "@daily", Duration: "1000h"},
		`update.windows[1].timeZone: "Oslo"`:       {Schedule: "@daily", Duration: "1h", TimeZone: "Oslo"},
		`update.windows[1].timeZone: "Local"`:      {Schedule: "@daily", Duration: "1h", TimeZone: "Local"},
	} {
		require.ErrorContains(t, SpecError(updating(model.Update{Windows: []model.Window{good, w}})), text)
	}
}

func updating(u model.Update) *model.Spec { return &model.Spec{Update: u} }
