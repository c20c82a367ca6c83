package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSplit(t *testing.T) {
	for line, want := range map[string]parsed{
		"":                        {commands: [][]string{nil}},
		"status json":             {commands: [][]string{{"status", "json"}}},
		"  a   b  ;c;":            {commands: [][]string{{"a", "b"}, {"c"}, nil}},
		`a "b c" d\ e`:            {commands: [][]string{{"a", "b c", "d e"}}},
		`a "" b`:                  {commands: [][]string{{"a", "", "b"}}},
		`a "b;c"; d\;e`:           {commands: [][]string{{"a", "b;c"}, {"d;e"}}},
		`a \x41\u0042\"\\`:        {commands: [][]string{{"a", `AB"\`}}},
		"a\tb\nc":                 {commands: [][]string{{"a", "b", "c"}}},
		`a "b`:                    {commands: [][]string{{"a", "b"}}, partial: true},
		`a; b \q c; d`:            {commands: [][]string{{"a"}, {"b"}}, malformed: true},
		`a \`:                     {commands: [][]string{{"a"}}, malformed: true},
		`a \x4`:                   {commands: [][]string{{"a"}}, malformed: true},
		`a \xzz`:                  {commands: [][]string{{"a"}}, malformed: true},
		`a \u0100`:                {commands: [][]string{{"a"}}, malformed: true},
		"a locality_zoneid:b c:1": {commands: [][]string{{"a", "locality_zoneid:b", "c:1"}}},
	} {
		require.Equal(t, want, split(line), line)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add(`exclude no_wait "a b"; include \x41`)
	f.Fuzz(func(t *testing.T, line string) {
		p := split(line)
		require.NotEmpty(t, p.commands)
		if p.malformed || p.partial || len(p.commands) != 1 {
			return
		}
		// What is echoed is read as the same again.
		var echoed []string
		for _, token := range p.commands[0] {
			if token == "" {
				return // nothing stands for it
			}
			echoed = append(echoed, strings.ReplaceAll(printable(token), ";", `\x3b`))
		}
		again := split(strings.Join(echoed, " "))
		require.Equal(t, p.commands[0], again.commands[0])
	})
}

func FuzzRunNeverPanics(f *testing.F) {
	for _, line := range []string{"status json", "exclude no_wait 10.8.0.13", "coordinators auto", "maintenance on a 1", "kill; kill all", "include all;exclude"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "sleep") || strings.Contains(line, "exclude") && !strings.Contains(line, "no_wait") {
			return // they may take as long as they like
		}
		s := newStage(t)
		s.event([]string{"cluster", "7.3.63"})
		out := s.run("--exec", line, "--timeout", "2")
		require.Contains(t, []string{"= 0\n", "= 1\n"}, out[strings.LastIndex(out, "= "):])
	})
}

func TestKeysAreNotEchoes(t *testing.T) {
	for key, want := range map[string][2]string{
		"a b": {`a\x20b`, `a b`}, `"`: {`\"`, `"`}, `\`: {`\\`, `\\`}, "\xff/'`": {"\\xff/'`", "\\xff/'`"}, "\x00": {`\x00`, `\x00`},
	} {
		require.Equal(t, want, [2]string{printable(key), plain(key)}, "%q", key)
	}
}
