package inject

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// operation is one step of a JSON patch (RFC 6902). Injection adds and replaces, and removes
// nothing but the labels of a guard.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`

	keys []string // Path, unescaped
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

func newOperation(op string, keys []string, value any) operation {
	var path strings.Builder
	for _, key := range keys {
		path.WriteString("/" + escape.Replace(key))
	}
	return operation{Op: op, Path: path.String(), Value: value, keys: keys}
}

// diff is the patch that makes before into after. Both are read as JSON, so that what is equal
// there is not touched. A list that became shorter is replaced as a whole; a key that vanished is
// an error, since nothing that is injected removes anything.
func diff(before, after any) ([]operation, error) {
	a, err := generic(before)
	if err != nil {
		return nil, err
	}
	b, err := generic(after)
	if err != nil {
		return nil, err
	}
	var d differ
	err = d.compare(nil, a, b)
	return d.ops, err
}

func generic(v any) (out any, err error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(data, &out)
	return out, err
}

type differ struct{ ops []operation }

func (d *differ) compare(at []string, a, b any) error {
	if reflect.DeepEqual(a, b) {
		return nil
	}
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return d.compareMaps(at, a, b)
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) <= len(b) {
			return d.compareLists(at, a, b)
		}
	}
	d.ops = append(d.ops, newOperation("replace", at, b))
	return nil
}

func (d *differ) compareMaps(at []string, a, b map[string]any) error {
	for key := range a {
		if _, there := b[key]; !there {
			return fmt.Errorf("/%s would vanish", strings.Join(append(at, key), "/"))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b)) {
		below := append(slices.Clone(at), key)
		if old, there := a[key]; !there {
			d.ops = append(d.ops, newOperation("add", below, b[key]))
		} else if err := d.compare(below, old, b[key]); err != nil {
			return err
		}
	}
	return nil
}

func (d *differ) compareLists(at []string, a, b []any) error {
	for i, value := range b {
		if i >= len(a) {
			d.ops = append(d.ops, newOperation("add", append(slices.Clone(at), "-"), value))
		} else if err := d.compare(append(slices.Clone(at), strconv.Itoa(i)), a[i], value); err != nil {
			return err
		}
	}
	return nil
}
