package enginetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// settingOf returns the member's engine with the setting that its drains change, as it is now. It
// skips the test if the adapter's drains change none.
func (s *suite) settingOf(member int, order engines.Order) (engines.SettingChanger, engines.Setting) {
	s.Helper()
	e, ok := s.engine(member).Engine.(engines.SettingChanger)
	if !ok {
		return nil, engines.Setting{}
	}
	setting, err := e.PlanSetting(s.Context(), order)
	require.NoError(s, err)
	require.LessOrEqual(s, len(setting.Undo), engines.MaxUndo)
	require.LessOrEqual(s, len(setting.Name), engines.MaxSettingName)
	if setting.Name == "" {
		return nil, engines.Setting{}
	}
	return e, setting
}

// sharing returns the member, or the first one where each changes a setting of its own.
func (s *suite) sharing(member int) int {
	if s.h.SettingsApart {
		return 0
	}
	return member
}

// sharedOnlyWhenNamed checks that a cluster setting is changed only by an order that names it.
func sharedOnlyWhenNamed(s *suite) {
	order := s.order(engines.Handoff)
	e, before := s.settingOf(0, order)
	if e == nil {
		return
	}
	other := s.sharing(1)
	undo := s.plan(e, order)
	_, planned := s.settingOf(other, order)
	require.Equal(s, before, planned, "planning changed it")
	s.apply(e, order, undo)
	_, unnamed := s.settingOf(other, order)
	require.Equal(s, before, unnamed, "nobody named it")
	order.Setting = before
	s.apply(e, order, undo)
	_, named := s.settingOf(other, order)
	require.NotEqual(s, before, named, "it was named and is as before")
	s.restore(e, undo)
	_, kept := s.settingOf(other, order)
	require.Equal(s, named, kept, "the undo of one drain is not the end of all")
	s.restoreSetting(e, before)
}

func sharedIsPutBack(s *suite) {
	order := s.order(engines.Handoff)
	e, before := s.settingOf(0, order)
	if e == nil {
		return
	}
	member := s.sharing(1)
	order.Setting = before
	undo := s.prepared(e, order)
	s.restore(e, undo)
	other, changed := s.settingOf(member, order)
	_, err := other.RestoreSetting(s.Context(), before, time.Now().Add(-time.Second))
	require.Error(s, err, "past its time")
	_, late := s.settingOf(member, order)
	require.Equal(s, changed, late, "written past its time")
	for _, wrong := range []engines.Setting{{Name: "no such", Undo: before.Undo}, {Name: before.Name, Undo: make([]byte, 2*engines.MaxUndo)}} {
		_, err := other.RestoreSetting(s.Context(), wrong, time.Time{})
		require.Error(s, err)
	}
	for range 2 {
		s.restoreSetting(other, before)
		_, after := s.settingOf(s.sharing(2), order)
		require.Equal(s, before, after)
	}
}

func (s *suite) restoreSetting(e engines.SettingChanger, setting engines.Setting) {
	s.Helper()
	s.repeat("restore of "+setting.Name, func() (engines.Progress, error) {
		return e.RestoreSetting(s.Context(), setting, time.Now().Add(time.Minute))
	})
}
