package policy

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// policyPage is where people read the rules.
const policyPage = "../../deploy/docs/policy.md"

// Its table has every rule that is asked, in that order, and says of each which pods it spares.
func TestThePolicyPageNamesTheRules(t *testing.T) {
	page, err := os.ReadFile(policyPage)
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "\n| rule | spares |")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	row := regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|([^|]*)\\|")
	named := row.FindAllStringSubmatch(table, -1)
	require.Len(t, named, len(rules))
	for i, r := range rules {
		spares := ""
		switch {
		case r.guardsData:
			spares = "b-"
		case r.sparesBroken:
			spares = "b"
		case r.name == model.RuleZoneUnknown || r.name == model.RuleZoneBudget || r.name == model.RulePodBudget:
			spares = "(b)"
		}
		if r.aboutUpdates {
			spares += " u"
		}
		if r.sparesDead {
			spares += " d"
		}
		if r.sparesFailed {
			spares += " f"
		}
		if r.sparesBegun {
			spares += " o"
		}
		require.Equal(t, string(r.name), named[i][1])
		require.Equal(t, spares, strings.TrimSpace(named[i][2]), "%s", r.name)
	}
}

// Its table has every field of the spec's update.
func TestThePolicyPageNamesTheFieldsOfUpdate(t *testing.T) {
	page, err := os.ReadFile(policyPage)
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## The fields of `update`")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var named []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Za-z.\\[\\]]+)` \\|").FindAllStringSubmatch(section, -1) {
		if row[1] != "windows" { // whose fields follow
			named = append(named, row[1])
		}
	}
	require.Equal(t, leavesOf(reflect.TypeFor[model.Update](), ""), named)
}

// leavesOf returns the fields of a type, as people write them.
func leavesOf(of reflect.Type, path string) []string {
	var names []string
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch kind := f.Type; {
		case kind.Kind() == reflect.Struct:
			names = append(names, leavesOf(kind, path+name+".")...)
		case kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Struct:
			names = append(names, leavesOf(kind.Elem(), path+name+"[].")...)
		default:
			names = append(names, path+name)
		}
	}
	return names
}

// Each section says which tests and scripts hold it, and these exist.
func TestThePolicyPageNamesWhatHoldsIt(t *testing.T) {
	page, err := os.ReadFile(policyPage)
	require.NoError(t, err)
	var tests strings.Builder
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	ofTheModel, err := filepath.Glob("../model/*_test.go")
	require.NoError(t, err)
	for _, file := range slices.Concat(files, ofTheModel) {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		tests.Write(source)
	}
	span := regexp.MustCompile("`([A-Za-z0-9_*]+)`")
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		title, _, _ := strings.Cut(section, "\n")
		_, held, found := strings.Cut(section, "\nHeld by: ")
		require.True(t, found, "%s: nothing holds it", title)
		for found {
			var names string
			names, held, _ = strings.Cut(held, "\n\n")
			for _, name := range span.FindAllStringSubmatch(names, -1) {
				requireHolder(t, title, name[1], tests.String())
			}
			_, held, found = strings.Cut(held, "\nHeld by: ")
		}
	}
}

func requireHolder(t *testing.T, section, name, tests string) {
	t.Helper()
	switch {
	case strings.HasPrefix(name, "Test"):
		require.Contains(t, tests, "func "+name+"(", "%s: no such test", section)
	case strings.Contains(name, "NAME"), strings.HasPrefix(name, "_"): // of each rule: TestEveryRuleHasScripts
	default:
		scripts, err := filepath.Glob(filepath.Join("testdata", name+".txt"))
		require.NoError(t, err)
		require.NotEmpty(t, scripts, "%s: no script %s", section, name)
	}
}
