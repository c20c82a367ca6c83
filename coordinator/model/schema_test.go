package model

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the schemas")

const schemaDir = "../../deploy/schema"

// The JSON schemas say what Decode and DecodePlan read. They are made from the types, their
// comments and their constants.
func TestPublishedSchemas(t *testing.T) {
	source := parseSource(t)
	for file, c := range map[string]struct {
		title string
		value any
	}{
		"snapshot.json": {"Rollcall snapshot", defaultSnapshot()},
		"plan.json":     {"Rollcall plan", Plan{}},
	} {
		s := schemaWriter{source: source, defs: map[string]any{}}
		root := s.object(reflect.ValueOf(c.value))
		root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		root["title"] = c.title
		root["required"] = []string{"version"}
		root["$defs"] = s.defs
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		require.NoError(t, encoder.Encode(root))

		path := filepath.Join(schemaDir, file)
		have, err := os.ReadFile(path)
		if *update && !bytes.Equal(have, out.Bytes()) {
			require.NoError(t, os.MkdirAll(schemaDir, 0o755))
			require.NoError(t, os.WriteFile(path, out.Bytes(), 0o644))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, out.String(), string(have), "run go test ./coordinator/model -update")
	}
}

// sourceFacts are the comments of types and fields, and the constants of each
// type of text.
type sourceFacts struct {
	docs  map[string]string // Type or Type.Field
	enums map[string][]string
}

func parseSource(t *testing.T) sourceFacts {
	t.Helper()
	facts := sourceFacts{docs: map[string]string{}, enums: map[string][]string{}}
	names, err := filepath.Glob("*.go") // sorted
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			if g, ok := decl.(*ast.GenDecl); ok {
				facts.add(g)
			}
		}
	}
	return facts
}

func (f *sourceFacts) add(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			f.docs[spec.Name.Name] = plain(g.Doc)
			if st, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range st.Fields.List {
					for _, name := range field.Names {
						f.docs[spec.Name.Name+"."+name.Name] = plain(field.Doc)
					}
				}
			}
		case *ast.ValueSpec:
			ident, ok := spec.Type.(*ast.Ident)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, v := range spec.Values {
				if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					f.enums[ident.Name] = append(f.enums[ident.Name], strings.Trim(lit.Value, `"`))
				}
			}
		}
	}
}

// plain is a comment on one line, without markers for generators.
func plain(doc *ast.CommentGroup) string {
	lines := []string{}
	for line := range strings.Lines(doc.Text()) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "+") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}

type schemaWriter struct {
	source sourceFacts
	defs   map[string]any
}

// object describes a struct; the value has the defaults of its fields.
func (s *schemaWriter) object(v reflect.Value) map[string]any {
	properties := map[string]any{}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		property := s.value(v.Field(i))
		if doc := s.source.docs[v.Type().Name()+"."+field.Name]; doc != "" {
			property["description"] = doc
		}
		properties[name] = property
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}

func (s *schemaWriter) value(v reflect.Value) map[string]any {
	t := v.Type()
	switch t {
	case reflect.TypeFor[Time]():
		return map[string]any{"type": []string{"string", "null"}, "format": "date-time"}
	case reflect.TypeFor[IntOrPercent]():
		return map[string]any{"oneOf": []any{
			map[string]any{"type": "integer", "minimum": 1},
			map[string]any{"type": "string", "pattern": "^[1-9][0-9]*%$"},
		}}
	}
	switch t.Kind() {
	case reflect.Struct:
		return map[string]any{"$ref": s.define(v)}
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{s.value(elem(t)), map[string]any{"type": "null"}}}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string", "contentEncoding": "base64"}
		}
		return map[string]any{"type": []string{"array", "null"}, "items": s.value(elem(t))}
	case reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": s.value(elem(t))}
	case reflect.Bool:
		return withDefault("boolean", v)
	case reflect.String:
		out := withDefault("string", v)
		if values := s.source.enums[t.Name()]; len(values) > 0 && t != reflect.TypeFor[Problem]() {
			if !slices.Contains(values, "") {
				values = append(slices.Clone(values), "")
			}
			out["enum"] = values
		}
		return out
	case reflect.Float64:
		return withDefault("number", v)
	}
	return withDefault("integer", v)
}

// elem is a new element with the defaults that the decoder gives it.
func elem(t reflect.Type) reflect.Value {
	v := reflect.New(t.Elem()).Elem()
	setDefaults(v)
	return v
}

func withDefault(kind string, v reflect.Value) map[string]any {
	out := map[string]any{"type": kind}
	if !v.IsZero() {
		out["default"] = v.Interface()
	}
	return out
}

func (s *schemaWriter) define(v reflect.Value) string {
	name := v.Type().Name()
	if _, done := s.defs[name]; !done {
		s.defs[name] = nil // while it is being made
		def := s.object(v)
		if doc := s.source.docs[name]; doc != "" {
			def["description"] = doc
		}
		s.defs[name] = def
	}
	return "#/$defs/" + name
}
