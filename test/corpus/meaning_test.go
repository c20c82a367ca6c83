package corpus

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// meaning reduces a JSON value to what it decides: names are mapped to the current
// ones, a text becomes whether it is there, and empty lists and objects become nil.
func meaning(v any, names map[string]string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		_, isStep := v["action"]
		for field, value := range v {
			switch {
			case isText(field, isStep):
				value = isThere(value)
			case isName(field):
				value = today(value, names)
			default:
				value = meaning(value, names)
			}
			if value != nil {
				out[field] = value
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, element := range v {
			out = append(out, meaning(element, names))
		}
		if len(out) == 0 {
			return nil
		}
		return out
	}
	return v
}

// isText reports whether a field is free text. The reason of a step is a name, any
// other reason is a text.
func isText(field string, isStep bool) bool {
	return field == "notes" || field == "unblocks" || field == "reason" && !isStep
}

func isName(field string) bool {
	switch field {
	case "phase", "rule", "action", "prepare", "reason":
		return true
	}
	return false
}

func isThere(text any) any {
	switch text := text.(type) {
	case string:
		return text != ""
	case []any:
		return len(text) > 0
	}
	return false
}

func today(name any, names map[string]string) any {
	if text, ok := name.(string); ok && names[text] != "" {
		return names[text]
	}
	return name
}

// differs returns the first difference between two values, or "" if they are equal.
func differs(at string, was, is any) string {
	if reflect.DeepEqual(was, is) {
		return ""
	}
	switch before := was.(type) {
	case map[string]any:
		after, ok := is.(map[string]any)
		fields := slices.Sorted(maps.Keys(before))
		for field := range after {
			fields = append(fields, field)
		}
		for _, field := range fields {
			if where := differs(at+"."+field, before[field], after[field]); ok && where != "" {
				return where
			}
		}
	case []any:
		after, ok := is.([]any)
		for i := range min(len(before), len(after)) {
			if where := differs(fmt.Sprintf("%s[%d]", at, i), before[i], after[i]); ok && where != "" {
				return where
			}
		}
	}
	return fmt.Sprintf("%s was %v and is %v", at, was, is)
}

func TestMeaning(t *testing.T) {
	plan := func(change func(plan, step, hold map[string]any)) any {
		step := map[string]any{"pod": "a-1", "action": "Restart", "reason": "Outdated", "notes": []any{"a note"}, "partition": nil}
		hold := map[string]any{"pod": "a-0", "rule": "busy", "group": "g", "reason": "it is busy", "unblocks": "time"}
		p := map[string]any{"phase": "Rolling", "order": []any{"a-1", "a-0"}, "steps": []any{step}, "holds": []any{hold}, "lines": []any{}}
		change(p, step, hold)
		return meaning(p, map[string]string{"at-work": "busy"})
	}
	was := plan(func(_, _, _ map[string]any) {})
	for name, change := range map[string]func(plan, step, hold map[string]any){
		"reworded":        func(_, _, hold map[string]any) { hold["reason"] = "it works" },
		"other advice":    func(_, _, hold map[string]any) { hold["unblocks"] = "a moment" },
		"other notes":     func(_, step, _ map[string]any) { step["notes"] = []any{"one", "two"} },
		"renamed":         func(_, _, hold map[string]any) { hold["rule"] = "at-work" },
		"no lines at all": func(plan, _, _ map[string]any) { delete(plan, "lines") },
		"no partition":    func(_, step, _ map[string]any) { delete(step, "partition") },
	} {
		require.Empty(t, differs("", was, plan(change)), name)
	}
	for name, change := range map[string]func(plan, step, hold map[string]any){
		"no reason":       func(_, _, hold map[string]any) { hold["reason"] = "" },
		"no notes":        func(_, step, _ map[string]any) { step["notes"] = []any{} },
		"other rule":      func(_, _, hold map[string]any) { hold["rule"] = "veto" },
		"other group":     func(_, _, hold map[string]any) { hold["group"] = "h" },
		"other held pod":  func(_, _, hold map[string]any) { hold["pod"] = "a-2" },
		"other reason":    func(_, step, _ map[string]any) { step["reason"] = "Adopt" },
		"other action":    func(_, step, _ map[string]any) { step["action"] = "Replace" },
		"by the line":     func(_, step, _ map[string]any) { step["partition"] = 0.0 },
		"other phase":     func(plan, _, _ map[string]any) { plan["phase"] = "Stalled" },
		"other order":     func(plan, _, _ map[string]any) { plan["order"] = []any{"a-0", "a-1"} },
		"nobody goes":     func(plan, _, _ map[string]any) { plan["steps"] = []any{} },
		"nobody is held":  func(plan, _, _ map[string]any) { plan["holds"] = []any{} },
		"a line is moved": func(plan, _, _ map[string]any) { plan["lines"] = []any{map[string]any{"pool": "a"}} },
	} {
		require.NotEmpty(t, differs("", was, plan(change)), name)
	}
}

func TestDiffersSaysWhere(t *testing.T) {
	hold := func(rule string) any {
		return map[string]any{"holds": []any{map[string]any{"pod": "a-0", "rule": rule}}}
	}
	require.Empty(t, differs("", hold("busy"), hold("busy")))
	require.Equal(t, ".holds[0].rule was busy and is veto", differs("", hold("busy"), hold("veto")))
	require.Equal(t, ".holds was <nil> and is [map[pod:a-0 rule:busy]]", differs("", map[string]any{}, hold("busy")))
}
