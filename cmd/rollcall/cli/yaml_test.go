package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsNotOneDocument(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a second document":         {"version: 1\n---\nversion: 7\n", "line 3: a second document begins here; only one snapshot is allowed"},
		"a third":                   {"version: 1\n---\n---\n- a\n", "line 4: a second document"},
		"behind an empty one":       {"---\n---\nversion: 1\n", "line 3: a second document"},
		"two objects":               {`{"version": 1}` + "\n" + `{"version": 7}`, "document"},
		"JSON, then YAML":           {`{"version": 1}` + "\n---\na: 1\n", "line 3: a second document"},
		"rubbish behind the end":    {"version: 1\n...\ngarbage: [\n", "something follows the first document; only one snapshot is allowed: "},
		"no number":                 {"pools: [{name: a}, {name: b,\n replicas: .nan}]\n", "line 2: pools[1].replicas is .nan: must be a number"},
		"too large":                 {"replicas: -.INF\n", "line 1: replicas is -.INF: must be a number"},
		"a key given twice":         {"pods:\n- name: a\n  node: x\n  name: b\n", "line 4: pods[0].name is given twice, first in line 2"},
		"a key of an odd kind":      {"{a: 1}: 2\n", "YAML that is not a snapshot: "},
		"nothing but a comment":     {"# nothing\n", "empty: must be a snapshot in JSON or YAML"},
		"neither the one nor other": {"{ this: [ is no", "neither JSON nor YAML: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := documentJSON([]byte(c.text), "snapshot")
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestOneDocument(t *testing.T) {
	for name, text := range map[string]string{
		"with a beginning":    "# a snapshot\n---\na: {b: x}\n",
		"with an end":         "a: {b: x}\n...\n# the end\n",
		"nothing behind":      "a: {b: x}\n---\n# nothing\n",
		"with a directive":    "%YAML 1.1\n---\na: {b: x}\n",
		"with an alias":       "a: &x {b: x}\n",
		"JSON with more keys": "{a: {\"b\": x}}",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := documentJSON([]byte(text), "snapshot")
			require.NoError(t, err)
			require.JSONEq(t, `{"a": {"b": "x"}}`, string(got))
		})
	}
	got, err := documentJSON([]byte(`text: ".nan"`), "snapshot")
	require.NoError(t, err)
	require.JSONEq(t, `{"text": ".nan"}`, string(got))
}
