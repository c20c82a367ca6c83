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

// operation is one step of a JSON patch (RFC 6902). Injection adds and replaces,
// and takes nothing away but the labels of a guard.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`

	keys []string // Path, unescaped
}

// diff is the patch that makes before into after. Both are read as JSON, so
// that what is equal there is not touched. A list that became shorter is
// replaced as a whole; a key that vanished is an error, since nothing that is
// injected takes anything away.
func diff(before, after any) ([]operation, error) {
	a, err := generic(before)
	if err != nil {
		return nil, err
	}
	b, err := generic(after)
	if err != nil {
		return nil, err
	}
	d := differ{}
	if err := d.compare(nil, a, b); err != nil {
		return nil, err
	}
	return d.ops, nil
}

func generic(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	return out, json.Unmarshal(data, &out)
}

type differ struct{ ops []operation }

func (d *differ) emit(op string, keys []string, value any) {
	var path strings.Builder
	for _, key := range keys {
		path.WriteString("/" + escape.Replace(key))
	}
	d.ops = append(d.ops, operation{Op: op, Path: path.String(), Value: value, keys: slices.Clone(keys)})
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

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
	d.emit("replace", at, b)
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
		old, there := a[key]
		if !there {
			d.emit("add", below, b[key])
			continue
		}
		if err := d.compare(below, old, b[key]); err != nil {
			return err
		}
	}
	return nil
}

func (d *differ) compareLists(at []string, a, b []any) error {
	for i, value := range b {
		if i >= len(a) {
			d.emit("add", append(slices.Clone(at), "-"), value)
			continue
		}
		if err := d.compare(append(slices.Clone(at), strconv.Itoa(i)), a[i], value); err != nil {
			return err
		}
	}
	return nil
}
