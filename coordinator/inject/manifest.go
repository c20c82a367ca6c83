package inject

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
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

// Result of Manifest.
type Result struct {
	// Changed counts the StatefulSets that were given an agent, Present those that
	// had one, and Unlabelled those whose pod template lacks the label.
	Changed, Present, Unlabelled int
	Warnings                     []Warning
}

func (r *Result) add(other Result) {
	r.Changed += other.Changed
	r.Present += other.Present
	r.Unlabelled += other.Unlabelled
	r.Warnings = append(r.Warnings, other.Warnings...)
}

func warned(format string, args ...any) Result {
	return Result{Warnings: []Warning{Warning(fmt.Sprintf(format, args...))}}
}

// Manifest reads a stream of YAML or JSON documents and writes it with an
// agent in every StatefulSet whose pod template carries the label
// rollcall.dev/cluster, also in those inside a List. All other documents are
// written byte for byte as they were, with a warning where they have pods of
// that label. Nothing is written when there is an
// error; errors and warnings name the input and the document in it.
func Manifest(r io.Reader, w io.Writer, opts ManifestOptions) (Result, error) {
	if opts.Name == "" {
		opts.Name = "input"
	}
	text, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", opts.Name, err)
	}
	if len(text) > maxManifest {
		return Result{}, fmt.Errorf("%s: larger than %d MiB", opts.Name, maxManifest>>20)
	}
	var out bytes.Buffer
	var result Result
	number := 0
	for _, part := range split(text) {
		if !isBlank(part.body) {
			number++
		}
		injected, said, err := document(part.body, opts.Options)
		if err != nil {
			return Result{}, fmt.Errorf("%s: document %d: %w", opts.Name, number, err)
		}
		for i, warning := range said.Warnings {
			said.Warnings[i] = Warning(fmt.Sprintf("%s: document %d: %s", opts.Name, number, warning))
		}
		result.add(said)
		out.Write(part.separator)
		out.Write(injected)
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return Result{}, fmt.Errorf("write the manifest: %w", err)
	}
	return result, nil
}

// part is one document and what separates it from the one before: a line of
// three dashes, with the directives above it.
type part struct{ separator, body []byte }

const directives = `(?:%[^\n]*\n(?:(?:[%#][^\n]*|[ \t\r]*)\n)*)?`

var (
	beginning     = regexp.MustCompile(`(?m)^` + directives + `---(?:[ \t\r]|$)`)
	separatorLine = regexp.MustCompile(`^` + directives + `---[ \t]*(?:#[^\n]*)?\r?(?:\n|$)`)
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

// isBlank reports whether there is nothing but comments.
func isBlank(body []byte) bool {
	for line := range bytes.SplitSeq(body, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// document is the body with agents, or the body itself.
func document(body []byte, opts Options) ([]byte, Result, error) {
	if isBlank(body) {
		return body, Result{}, nil
	}
	asJSON, err := sigsyaml.YAMLToJSON(body)
	if err != nil {
		return nil, Result{}, err
	}
	edits, result, err := edit(asJSON, nil, opts)
	if err != nil || len(edits) == 0 {
		return body, result, err
	}
	var tree yaml.Node
	// The parser takes the end of such a line behind a comment for an empty line.
	decoder := yaml.NewDecoder(bytes.NewReader(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n"))))
	if err := decoder.Decode(&tree); err != nil {
		return nil, Result{}, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, Result{}, errors.New("more than one document without a line of --- alone between them")
	}
	if err := tree.Decode(new(any)); err != nil {
		return nil, Result{}, err // such as a key that is given twice: which of the two is meant?
	}
	if json.Valid(body) {
		out, err := patchJSON(body, edits)
		return withLines(out, body), result, err
	}
	for _, e := range edits {
		if err := patchYAML(&tree, e.base, e.ops); err != nil {
			return nil, Result{}, err
		}
	}
	out, err := encodeYAML(&tree)
	if dashes := beginning.FindIndex(body); dashes != nil {
		directives := bytes.TrimRight(body[:dashes[1]], "- \t\r")
		out = slices.Concat(directives, []byte("---\n"), out)
	}
	return withLines(out, body), result, err
}

// withLines ends the lines of text as those of model are ended.
func withLines(text, model []byte) []byte {
	if !bytes.Contains(model, []byte("\r\n")) {
		return text
	}
	return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
}

// edits are what is to be done below one place of a document.
type edits struct {
	base []string
	ops  []operation
}

// edit finds the StatefulSets at and below a place.
func edit(object []byte, at []string, opts Options) ([]edits, Result, error) {
	var head head
	if err := json.Unmarshal(object, &head); err != nil {
		// Not an object of Kubernetes as we know them: none of our business.
		return nil, Result{}, nil //nolint:nilerr // as said
	}
	switch {
	case head.APIVersion == "v1" && head.Kind == "List",
		head.APIVersion == "apps/v1" && head.Kind == "StatefulSetList":
		var all []edits
		var result Result
		for i, item := range head.Items {
			below, said, err := edit(item, append(append([]string(nil), at...), "items", strconv.Itoa(i)), opts)
			if err != nil {
				return nil, Result{}, fmt.Errorf("items[%d]: %w", i, err)
			}
			all = append(all, below...)
			result.add(said)
		}
		return all, result, nil
	case head.APIVersion == "apps/v1" && head.Kind == "StatefulSet":
		ops, result, err := editStatefulSet(object, opts)
		if err != nil {
			return nil, Result{}, fmt.Errorf("%s: %w", head.name(), err)
		}
		for i, warning := range result.Warnings {
			result.Warnings[i] = Warning(head.name()+": ") + warning
		}
		if len(ops) == 0 {
			return nil, result, nil
		}
		return []edits{{base: at, ops: ops}}, result, nil
	case hasLabelledPods(object, head.Kind):
		return nil, warned("%s has pods with the label %s and was left as it is: only a StatefulSet of apps/v1 is given an agent",
			head.name(), v1alpha1.LabelCluster), nil
	}
	return nil, Result{}, nil
}

// head is what all objects have in common.
type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// hasLabelledPods reports whether the object is a pod with our label, or makes such pods.
func hasLabelledPods(object []byte, kind string) bool {
	type labelled struct {
		Metadata struct {
			Labels map[string]any `json:"labels"`
		} `json:"metadata"`
	}
	var like struct {
		labelled
		Spec struct {
			Template labelled `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(object, &like); err != nil {
		return false // no kind that has pods
	}
	labels := like.Spec.Template.Metadata.Labels
	if kind == "Pod" {
		labels = like.Metadata.Labels
	}
	return labels[v1alpha1.LabelCluster] != nil
}

func (h *head) name() string {
	kind := h.Kind
	if h.APIVersion != "apps/v1" && h.APIVersion != "" && h.APIVersion != "v1" {
		kind = h.APIVersion + " " + kind
	}
	if h.Metadata.Namespace != "" {
		return kind + " " + h.Metadata.Namespace + "/" + h.Metadata.Name
	}
	return kind + " " + h.Metadata.Name
}

func editStatefulSet(object []byte, opts Options) ([]operation, Result, error) {
	var set appsv1.StatefulSet
	if err := json.Unmarshal(object, &set); err != nil {
		return nil, Result{}, err
	}
	if set.Spec.Template.Labels[v1alpha1.LabelCluster] == "" {
		result := Result{Unlabelled: 1}
		if set.Labels[v1alpha1.LabelCluster] != "" {
			result.add(warned("metadata.labels has %s and the pod template has not: it was left as it is", v1alpha1.LabelCluster))
		}
		return nil, result, nil
	}
	template, warnings, err := Template(&set.Spec.Template, opts)
	if err != nil {
		return nil, Result{}, err
	}
	injected := set
	injected.Spec.Template = *template
	ops, err := diff(&set, &injected)
	result := Result{Changed: 1, Warnings: warnings}
	if len(ops) == 0 {
		result.Changed, result.Present = 0, 1
	}
	wanted := set.Spec.Template.Labels[v1alpha1.LabelCluster]
	if have := set.Labels[v1alpha1.LabelCluster]; have != wanted {
		result.add(warned("metadata.labels has %s: %q, want %q as in the pod template: the coordinator finds StatefulSets by that label",
			v1alpha1.LabelCluster, have, wanted))
	}
	return ops, result, err
}

func patchJSON(body []byte, all []edits) ([]byte, error) {
	var ops []operation
	for _, e := range all {
		for _, op := range e.ops {
			ops = append(ops, newOperation(op.Op, slices.Concat(e.base, op.keys), op.Value))
		}
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
