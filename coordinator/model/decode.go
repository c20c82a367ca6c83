package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"
)

// Decode reads a snapshot from JSON. Fields that are left out, or null, get
// their defaults. An unknown or repeated field, or a value of the wrong type,
// is an error that names its path.
func Decode(data []byte) (Snapshot, error) {
	s := defaultSnapshot()
	s.Version = 0
	if err := decode(data, &s); err != nil {
		return Snapshot{}, fmt.Errorf("snapshot: %w", err)
	}
	if err := checkVersion(s.Version); err != nil {
		return Snapshot{}, fmt.Errorf("snapshot: %w", err)
	}
	s.Cluster.Engine.fillIn(s.Cluster.Spec.Engine)
	return s, nil
}

// DecodePlan reads a plan from JSON, as strictly as Decode.
func DecodePlan(data []byte) (Plan, error) {
	var p Plan
	if err := decode(data, &p); err != nil {
		return Plan{}, fmt.Errorf("plan: %w", err)
	}
	if err := checkVersion(p.Version); err != nil {
		return Plan{}, fmt.Errorf("plan: %w", err)
	}
	return p, nil
}

func checkVersion(v int) error {
	switch v {
	case Version:
		return nil
	case 0:
		return fmt.Errorf("version is missing: this program reads version %d", Version)
	}
	return fmt.Errorf("version is %d: this program reads version %d", v, Version)
}

func decode(data []byte, into any) error {
	if !utf8.Valid(data) {
		return errors.New("not JSON: it is not all UTF-8")
	}
	// Valid also bounds the nesting, on which the recursion below relies.
	if !json.Valid(data) {
		var any json.RawMessage
		if err := json.Unmarshal(data, &any); err != nil {
			return fmt.Errorf("not JSON: %w", err)
		}
		return errors.New("not JSON")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	return decodeValue(d, "", reflect.ValueOf(into).Elem())
}

// structFields maps the JSON names of a struct to field indices, and lists the names in order.
type structFields struct {
	index map[string]int
	names []string
}

var structFieldsCache sync.Map // reflect.Type -> structFields

func fieldsOf(t reflect.Type) structFields {
	if cached, ok := structFieldsCache.Load(t); ok {
		return cached.(structFields)
	}
	fields := structFields{index: map[string]int{}}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		fields.index[name] = i
		fields.names = append(fields.names, name)
	}
	structFieldsCache.Store(t, fields)
	return fields
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func decodeValue(d *json.Decoder, path string, v reflect.Value) error {
	t := v.Type()
	switch {
	case reflect.PointerTo(t).Implements(unmarshaler):
		return decodeLeaf(d, path, v)
	case t.Kind() == reflect.Struct:
		return decodeStruct(d, path, v)
	case t.Kind() == reflect.Pointer:
		return decodePointer(d, path, v)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return decodeSlice(d, path, v)
	case t.Kind() == reflect.Map:
		return decodeMap(d, path, v)
	}
	return decodeLeaf(d, path, v)
}

// decodeLeaf leaves null at its default.
func decodeLeaf(d *json.Decoder, path string, v reflect.Value) error {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return at(path, err)
	}
	if string(raw) == "null" {
		return nil
	}
	if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
		if mismatch := (*json.UnmarshalTypeError)(nil); errors.As(err, &mismatch) {
			return fmt.Errorf("%s is %.60s: must be %s", path, raw, wanted(v.Type()))
		}
		return at(path, err)
	}
	return nil
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text, in quotes where YAML takes it for something else"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("a whole number of at most %d bits", t.Bits())
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "base64 text"
	}
	return "another value"
}

// at adds the path to an error, if there is one.
func at(path string, err error) error {
	if err == nil || path == "" {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// open consumes the token that begins an object or a list. It returns false if it
// consumed null instead.
func open(d *json.Decoder, path string, want json.Delim, noun string) (bool, error) {
	token, err := d.Token()
	switch {
	case err != nil:
		return false, at(path, err)
	case token == nil:
		return false, nil
	case token != want:
		where := path
		if where == "" {
			where = "the document"
		}
		return false, fmt.Errorf("%s is not %s", where, noun)
	}
	return true, nil
}

// skipClose consumes the token that ends an object or a list.
func skipClose(d *json.Decoder, path string) error {
	_, err := d.Token()
	return at(path, err)
}

// unsetReplicas marks replicas that the document leaves out. Reading them as 0 would mean a
// shutdown.
const unsetReplicas = math.MinInt32

// notZero are the fields of the spec for which 0 means the default. An explicit 0 is an
// error, because whoever writes it does not mean the default.
var notZero = map[reflect.Type][]string{
	reflect.TypeFor[Policy]():      {"startSeconds", "progressSeconds", "maxFailed"},
	reflect.TypeFor[Drain]():       {"timeoutSeconds", "evacuateTimeoutSeconds"},
	reflect.TypeFor[Replacement](): {"failureDetectionSeconds", "taintReplacementSeconds"},
}

func decodeStruct(d *json.Decoder, path string, v reflect.Value) error {
	if ok, err := open(d, path, '{', "an object"); !ok {
		return err
	}
	fields := fieldsOf(v.Type())
	seen := make([]bool, v.NumField())
	pool, isPool := reflect.TypeAssert[*Pool](v.Addr())
	if isPool {
		pool.Replicas = unsetReplicas
	}
	for _, name := range notZero[v.Type()] {
		v.Field(fields.index[name]).SetInt(math.MinInt32)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return at(path, err)
		}
		name, _ := key.(string)
		i, known := fields.index[name]
		if !known {
			return fmt.Errorf("unknown field %s: known here are %s", join(path, name), strings.Join(fields.names, ", "))
		}
		if seen[i] {
			return fmt.Errorf("%s is given twice", join(path, name))
		}
		seen[i] = true
		if err := decodeValue(d, join(path, name), v.Field(i)); err != nil {
			return err
		}
	}
	if isPool && pool.Replicas == unsetReplicas {
		return fmt.Errorf("%s is missing: must be the desired number of pods", join(path, "replicas"))
	}
	for _, name := range notZero[v.Type()] {
		switch field := v.Field(fields.index[name]); field.Int() {
		case 0:
			return fmt.Errorf("%s is 0: must be at least 1, or nothing for the default", join(path, name))
		case math.MinInt32:
			field.SetInt(0)
		}
	}
	if g, ok := reflect.TypeAssert[*Group](v.Addr()); ok {
		g.NeedsLeader = g.NeedsLeader && (g.Kind == GroupShard || seen[fields.index["needsLeader"]])
	}
	return skipClose(d, path)
}

func decodePointer(d *json.Decoder, path string, v reflect.Value) error {
	elem := reflect.New(v.Type().Elem())
	setDefaults(elem.Elem())
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return at(path, err)
	}
	if string(raw) == "null" {
		v.SetZero()
		return nil
	}
	if err := decodeValue(json.NewDecoder(bytes.NewReader(raw)), path, elem.Elem()); err != nil {
		return err
	}
	v.Set(elem)
	return nil
}

func decodeSlice(d *json.Decoder, path string, v reflect.Value) error {
	if ok, err := open(d, path, '[', "a list"); !ok {
		return err
	}
	out := reflect.MakeSlice(v.Type(), 0, 0)
	for i := 0; d.More(); i++ {
		elem := reflect.New(v.Type().Elem()).Elem()
		setDefaults(elem)
		if err := decodeValue(d, fmt.Sprintf("%s[%d]", path, i), elem); err != nil {
			return err
		}
		out = reflect.Append(out, elem)
	}
	v.Set(out)
	return skipClose(d, path)
}

func decodeMap(d *json.Decoder, path string, v reflect.Value) error {
	if ok, err := open(d, path, '{', "an object"); !ok {
		return err
	}
	out := reflect.MakeMap(v.Type())
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return at(path, err)
		}
		name, _ := key.(string)
		where := fmt.Sprintf("%s[%q]", path, name)
		k := reflect.ValueOf(name).Convert(v.Type().Key())
		if out.MapIndex(k).IsValid() {
			return fmt.Errorf("%s is given twice", where)
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		if err := decodeValue(d, where, elem); err != nil {
			return err
		}
		out.SetMapIndex(k, elem)
	}
	v.Set(out)
	return skipClose(d, path)
}
