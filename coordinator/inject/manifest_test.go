package inject

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

func injectText(t *testing.T, text string) (string, []Warning) {
	t.Helper()
	var out bytes.Buffer
	result, err := Manifest(strings.NewReader(text), &out, ManifestOptions{Options: testOptions(), Name: "test.yaml"})
	require.NoError(t, err)
	return out.String(), result.Warnings
}

func TestManifestGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/manifest/*.in.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, inputs)
	for _, input := range inputs {
		t.Run(filepath.Base(input), func(t *testing.T) {
			text, err := os.ReadFile(input)
			require.NoError(t, err)
			got, warnings := injectText(t, string(text))
			require.Empty(t, warnings)
			golden(t, strings.Replace(input, ".in.", ".out.", 1), []byte(got))

			again, warnings := injectText(t, got)
			require.Empty(t, warnings)
			require.Equal(t, got, again, "a second injection changes nothing")
		})
	}
}

// What comes out of a manifest is what Template makes, whatever the way in which it is written.
func TestManifestEqualsTemplate(t *testing.T) {
	for _, name := range []string{"chart", "object"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/manifest/" + name + ".in.yaml")
			require.NoError(t, err)
			got, _ := injectText(t, string(text))
			documents := func(stream string) (all []appsv1.StatefulSet) {
				for _, p := range split([]byte(stream)) {
					var set appsv1.StatefulSet
					require.NoError(t, yaml.Unmarshal(p.body, &set))
					if set.Kind == "StatefulSet" && set.Name == "solr" {
						all = append(all, set)
					}
				}
				return all
			}
			before, after := documents(string(text)), documents(got)
			require.Len(t, before, 1)
			require.Len(t, after, 1)
			want, _, err := Template(&before[0].Spec.Template, testOptions())
			require.NoError(t, err)
			wanted, err := yaml.Marshal(want)
			require.NoError(t, err)
			have, err := yaml.Marshal(after[0].Spec.Template)
			require.NoError(t, err)
			require.Equal(t, string(wanted), string(have))
		})
	}
}

func TestOtherDocumentsAreUntouched(t *testing.T) {
	for name, text := range map[string]string{
		"empty":              "",
		"comment":            "# nothing\n",
		"separators":         "---\n---\n--- # x\n",
		"no final newline":   "a: 1",
		"windows lines":      "---\r\na: 1\r\n---\r\nb: 2\r\n",
		"odd":                "a:    [1,2 ,3]\nb:   'x'   # c\n\n\n",
		"text with dashes":   "a: |\n  ---\n  b\n",
		"list":               "- 1\n- 2\n",
		"scalar":             "hello\n",
		"other kinds":        "apiVersion: v1\nkind: Service\nmetadata: {labels: {rollcall.dev/cluster: x}}\nspec: {template: 7}\n",
		"directive":          "%YAML 1.1\n---\na: 1\n...\n# c\n%YAML 1.1\n# c\n\n--- {b: 1}\n",
		"keys given twice":   "a: 1\na: 2\n",
		"end marker":         "a: 1\n...\n---\nb: 1\n",
		"document on a line": "--- {a: 1}\n--- {b: 2}\n",
		"json":               `{"a": 1}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, warnings := injectText(t, text)
			require.Empty(t, warnings)
			require.Equal(t, text, got)
		})
	}
}

// Whoever labelled them meant something.
func TestLeftAsItIsWithAWarning(t *testing.T) {
	const template = "spec: {template: {metadata: {labels: {rollcall.dev/cluster: x}}}}\n"
	for text, want := range map[string]string{
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {rollcall.dev/cluster: x}}\n":                                    "Pod a has pods with the label rollcall.dev/cluster and was left as it is",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n" + template:                                                "Deployment a has pods",
		"apiVersion: apps/v1beta2\nkind: StatefulSet\nmetadata: {name: a}\n" + template:                                          "apps/v1beta2 StatefulSet a has pods",
		"apiVersion: apps.example.com/v1\nkind: StatefulSet\n" + template:                                                        "apps.example.com/v1 StatefulSet",
		"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a, labels: {rollcall.dev/cluster: x}}\nspec: {template: {}}\n": "StatefulSet a: metadata.labels has rollcall.dev/cluster and the pod template has not",
	} {
		got, warnings := injectText(t, text)
		require.Equal(t, text, got)
		require.Len(t, warnings, 1, text)
		require.Contains(t, warnings[0], "test.yaml: document 1: "+want)
	}
}

func TestWhatIsCounted(t *testing.T) {
	unlabelled := strings.Replace(injectable, "rollcall.dev/cluster", "app", 1)
	var once, twice bytes.Buffer
	opts := ManifestOptions{Options: testOptions()}
	result, err := Manifest(strings.NewReader(injectable+"---\n"+unlabelled+"---\n"+injectable), &once, opts)
	require.NoError(t, err)
	require.Equal(t, []int{2, 0, 1}, []int{result.Changed, result.Present, result.Unlabelled})
	result, err = Manifest(&once, &twice, opts)
	require.NoError(t, err)
	require.Equal(t, []int{0, 2, 1}, []int{result.Changed, result.Present, result.Unlabelled})
}

// TestLinesAndDirectivesStay in documents that change.
func TestLinesAndDirectivesStay(t *testing.T) {
	unix, _ := injectText(t, "# c\n"+injectable)
	dos, _ := injectText(t, strings.ReplaceAll("# c\n"+injectable, "\n", "\r\n"))
	require.Equal(t, strings.ReplaceAll(unix, "\n", "\r\n"), dos)

	for _, text := range []string{"%YAML 1.1\n# c\n---\n" + injectable, "a: 1\n...\n%YAML 1.1\n---\n" + injectable} {
		got, _ := injectText(t, text)
		require.Contains(t, got, "%YAML 1.1\n")
		require.Equal(t, 1, strings.Count(got, "---\n"))
		require.Contains(t, got, "name: rollcall-agent")
	}
	line := "%YAML 1.1\n--- " + `{apiVersion: apps/v1, kind: StatefulSet, spec: {template: {metadata: {labels: {rollcall.dev/cluster: x}}, spec: {containers: [{name: a}]}}}}` + "\n"
	got, _ := injectText(t, line)
	require.True(t, strings.HasPrefix(got, "%YAML 1.1\n---\n"), got)
}

const injectable = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: solr, namespace: prod}
spec: {template: {metadata: {labels: {rollcall.dev/cluster: search}}, spec: {containers: [{name: solr}]}}}
`

func TestManifestErrors(t *testing.T) {
	hook := strings.Replace(injectable, "{name: solr}]", "{name: solr, lifecycle: {preStop: {sleep: {seconds: 1}}}}]", 1)
	wrong := strings.Replace(injectable, "[{name: solr}]", "solr", 1)
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"preStop":    {"a: 1\n---\n# c\n---\n" + hook, "test.yaml: document 2: StatefulSet prod/solr: container solr has a preStop hook of its own"},
		"wrong type": {wrong, "test.yaml: document 1: StatefulSet prod/solr: json: cannot unmarshal string into Go struct field"},
		"not yaml":   {"---\na: [\n", "test.yaml: document 1: "},
		"in a list":  {"apiVersion: v1\nkind: List\nitems:\n- a: 1\n- " + strings.ReplaceAll(strings.TrimSpace(hook), "\n", "\n  "), "items[1]: StatefulSet prod/solr"},
		"key twice":  {strings.Replace(injectable, "name: solr, ", "name: solr, name: other, ", 1), `mapping key "name" already defined`},
		"no name":    {strings.Replace(injectable, "cluster: search", "cluster: C_ bad/", 1), `label rollcall.dev/cluster is "C_ bad/", which cannot be the name of a DatabaseCluster`},
		"two in one": {injectable + "...\nb: 2\n", "more than one document"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			_, err := Manifest(strings.NewReader(c.text), &out, ManifestOptions{Options: testOptions(), Name: "test.yaml"})
			require.ErrorContains(t, err, c.want)
			require.Empty(t, out.String(), "nothing is written")
		})
	}
	_, err := Manifest(iotest.ErrReader(errors.New("broken pipe")), &bytes.Buffer{}, ManifestOptions{Options: testOptions()})
	require.ErrorContains(t, err, "input: broken pipe")
	_, err = Manifest(strings.NewReader(injectable), &bytes.Buffer{}, ManifestOptions{})
	require.ErrorContains(t, err, "no image of the agent was given")
	_, err = Manifest(strings.NewReader(injectable), &bytes.Buffer{}, ManifestOptions{Options: Options{Image: "A B"}})
	require.ErrorContains(t, err, `image of the agent is "A B"`)
}

// Two templates that share what they contain by an anchor get an agent each, and other users of the
// anchor get none.
func TestSharedPartsAreNotChanged(t *testing.T) {
	text := `apiVersion: v1
kind: List
shared: &spec
  containers: [{name: solr}]
items:
  - apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: a}
    spec: {template: {metadata: {labels: {rollcall.dev/cluster: search}}, spec: *spec}}
  - apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: b}
    spec: {template: {metadata: {labels: {app: b}}, spec: *spec}}
`
	got, _ := injectText(t, text)
	var list struct {
		Shared map[string]any       `json:"shared"`
		Items  []appsv1.StatefulSet `json:"items"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(got), &list))
	require.NotContains(t, list.Shared, "initContainers")
	require.Len(t, list.Items[0].Spec.Template.Spec.InitContainers, 1)
	require.Empty(t, list.Items[1].Spec.Template.Spec.InitContainers)
	require.Equal(t, 1, strings.Count(got, "rollcall-agent"))
}

// The coordinator would not find it.
func TestSetWithoutLabel(t *testing.T) {
	for _, labels := range []string{"", ", labels: {rollcall.dev/cluster: other}"} {
		_, warnings := injectText(t, strings.Replace(injectable, "namespace: prod", "namespace: prod"+labels, 1))
		require.Len(t, warnings, 1)
		require.Contains(t, warnings[0], "test.yaml: document 1: StatefulSet prod/solr: metadata.labels has rollcall.dev/cluster: ")
		require.Contains(t, warnings[0], `want "search" as in the pod template`)
	}
	_, warnings := injectText(t, strings.Replace(injectable, "namespace: prod", "namespace: prod, labels: {rollcall.dev/cluster: search}", 1))
	require.Empty(t, warnings)
}

// TestDocumentOnTheSeparatorsLine stays a document of its own.
func TestDocumentOnTheSeparatorsLine(t *testing.T) {
	line := `--- {apiVersion: apps/v1, kind: StatefulSet, spec: {template: {metadata: {labels: {rollcall.dev/cluster: x}}, spec: {containers: [{name: a}]}}}}` + "\n"
	got, _ := injectText(t, "--- {a: 1}\n"+line+line)
	parts := split([]byte(got))
	require.Len(t, parts, 3)
	require.Equal(t, "--- {a: 1}\n", string(parts[0].body))
	for _, p := range parts[1:] {
		require.Equal(t, 1, strings.Count(string(p.body), "name: rollcall-agent"))
	}
}

func FuzzManifest(f *testing.F) {
	inputs, _ := filepath.Glob("testdata/manifest/*.in.yaml")
	for _, input := range inputs {
		text, err := os.ReadFile(input)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte(injectable))
	f.Fuzz(func(t *testing.T, text []byte) {
		var once, twice bytes.Buffer
		opts := ManifestOptions{Options: testOptions()}
		if _, err := Manifest(bytes.NewReader(text), &once, opts); err != nil {
			return
		}
		_, err := Manifest(bytes.NewReader(once.Bytes()), &twice, opts)
		require.NoError(t, err)
		require.Equal(t, once.String(), twice.String())
	})
}
