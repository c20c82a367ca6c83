package inject

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// maxManifest bounds what is read, in bytes.
const maxManifest = 64 << 20

// ManifestOptions are for Manifest.
type ManifestOptions struct {
	Options
	// Name of the input in errors and warnings, such as a file's.
	Name string
}

// Manifest reads a stream of YAML or JSON documents and writes it with an
// agent in every StatefulSet whose pod template carries the label
// rollcall.dev/cluster, also in those inside a List. All other documents are
// written byte for byte as they were. Nothing is written when there is an
// error; errors and warnings name the input and the document in it.
func Manifest(r io.Reader, w io.Writer, opts ManifestOptions) ([]Warning, error) {
	if opts.Name == "" {
		opts.Name = "input"
	}
	text, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opts.Name, err)
	}
	if len(text) > maxManifest {
		return nil, fmt.Errorf("%s: larger than %d MiB", opts.Name, maxManifest>>20)
	}
	var out bytes.Buffer
	var warnings []Warning
	number := 0
	for _, part := range split(text) {
		if !isBlank(part.body) {
			number++
		}
		injected, said, err := document(part.body, opts.Options)
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", opts.Name, number, err)
		}
		for _, warning := range said {
			warnings = append(warnings, Warning(fmt.Sprintf("%s: document %d: %s", opts.Name, number, warning)))
		}
		out.Write(part.separator)
		out.Write(injected)
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	return warnings, nil
}

// part is one document and the line that separates it from the one before.
type part struct{ separator, body []byte }

var (
	beginning     = regexp.MustCompile(`(?m)^---(?:[ \t\r]|$)`)
	separatorLine = regexp.MustCompile(`^---[ \t]*(?:#[^\n]*)?\r?(?:\n|$)`)
)

// split cuts a stream into its documents. Joining the parts gives the stream
// again. A separator with content behind it on its line is part of the body.
func split(text []byte) []part {
	var parts []part
	from := 0
	for _, at := range append(beginning.FindAllIndex(text, -1), []int{len(text)}) {
		if at[0] == 0 && len(text) > 0 {
			continue
		}
		body := text[from:at[0]]
		end := 0
		if line := separatorLine.FindIndex(body); line != nil {
			end = line[1]
		}
		parts = append(parts, part{body[:end], body[end:]})
		from = at[0]
	}
	return parts
}

// isBlank says whether there is nothing but comments.
func isBlank(body []byte) bool {
	for _, line := range bytes.Split(body, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// document is the body with agents, or the body itself.
func document(body []byte, opts Options) ([]byte, []Warning, error) {
	if isBlank(body) {
		return body, nil, nil
	}
	asJSON, err := sigsyaml.YAMLToJSON(body)
	if err != nil {
		return nil, nil, err
	}
	edits, warnings, err := edit(asJSON, nil, opts)
	if err != nil || len(edits) == 0 {
		return body, warnings, err
	}
	if json.Valid(body) {
		out, err := patchJSON(body, edits)
		return out, warnings, err
	}
	var tree yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(body))
	if err := decoder.Decode(&tree); err != nil {
		return nil, nil, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("more than one document without a line of --- alone between them")
	}
	for _, e := range edits {
		if err := patchYAML(&tree, e.base, e.ops); err != nil {
			return nil, nil, err
		}
	}
	out, err := encodeYAML(&tree)
	if beginning.Match(body) {
		out = append([]byte("---\n"), out...)
	}
	return out, warnings, err
}

// edits are what is to be done below one place of a document.
type edits struct {
	base []string
	ops  []operation
}

// edit finds the StatefulSets at and below a place.
func edit(object []byte, at []string, opts Options) ([]edits, []Warning, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(object, &head); err != nil {
		// Not an object of Kubernetes as we know them: none of our business.
		return nil, nil, nil
	}
	switch {
	case head.APIVersion == "v1" && head.Kind == "List",
		head.APIVersion == "apps/v1" && head.Kind == "StatefulSetList":
		var all []edits
		var warnings []Warning
		for i, item := range head.Items {
			below, said, err := edit(item, append(append([]string(nil), at...), "items", strconv.Itoa(i)), opts)
			if err != nil {
				return nil, nil, fmt.Errorf("items[%d]: %w", i, err)
			}
			all, warnings = append(all, below...), append(warnings, said...)
		}
		return all, warnings, nil
	case head.APIVersion == "apps/v1" && head.Kind == "StatefulSet":
		name := "StatefulSet " + head.Metadata.Name
		if head.Metadata.Namespace != "" {
			name = "StatefulSet " + head.Metadata.Namespace + "/" + head.Metadata.Name
		}
		ops, warnings, err := editStatefulSet(object, opts)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		for i := range warnings {
			warnings[i] = Warning(name+": ") + warnings[i]
		}
		if len(ops) == 0 {
			return nil, warnings, nil
		}
		return []edits{{base: at, ops: ops}}, warnings, nil
	}
	return nil, nil, nil
}

func editStatefulSet(object []byte, opts Options) ([]operation, []Warning, error) {
	var set appsv1.StatefulSet
	if err := json.Unmarshal(object, &set); err != nil {
		return nil, nil, err
	}
	if set.Spec.Template.Labels[v1alpha1.LabelCluster] == "" {
		return nil, nil, nil
	}
	template, warnings, err := Template(&set.Spec.Template, opts)
	if err != nil {
		return nil, nil, err
	}
	injected := set
	injected.Spec.Template = *template
	ops, err := diff(&set, &injected)
	wanted := set.Spec.Template.Labels[v1alpha1.LabelCluster]
	if have := set.Labels[v1alpha1.LabelCluster]; have != wanted {
		warnings = append(warnings, Warning(fmt.Sprintf("metadata.labels has %s: %q, want %q as in the pod template: the coordinator finds StatefulSets by that label",
			v1alpha1.LabelCluster, have, wanted)))
	}
	return ops, warnings, err
}

func patchJSON(body []byte, all []edits) ([]byte, error) {
	var ops []operation
	for _, e := range all {
		d := differ{}
		for _, op := range e.ops {
			d.emit(op.Op, append(append([]string(nil), e.base...), op.keys...), op.Value)
		}
		ops = append(ops, d.ops...)
	}
	encoded, err := json.Marshal(ops)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(encoded)
	if err != nil {
		return nil, err
	}
	out, err := patch.ApplyIndent(body, "  ")
	return append(out, '\n'), err
}
