package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/cmd/printable"
)

func (a *App) writeJSON(f Format, data []byte) error {
	out, err := Rendered(f, data)
	if err == nil {
		_, err = a.Out.Write(out)
	}
	return err
}

// Rendered indents JSON, or converts it to YAML.
func Rendered(f Format, data []byte) ([]byte, error) {
	if f == YAML {
		out, err := yaml.JSONToYAML(marked(data))
		if err != nil {
			return nil, fmt.Errorf("as YAML: %w", err)
		}
		return quoted(out), nil
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		return nil, fmt.Errorf("as JSON: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// marked puts a control character before each rune that can control a terminal, so that
// YAML quotes the whole string: only quoted strings can hold \uXXXX. quoted removes the marks.
func marked(data []byte) []byte {
	var out bytes.Buffer
	for _, r := range string(data) {
		if printable.Steers(r) {
			out.WriteString(printable.Quote(r))
		} else {
			out.WriteRune(r)
		}
	}
	return jsonEscape.ReplaceAllFunc(out.Bytes(), func(found []byte) []byte {
		r, err := strconv.ParseUint(string(found[2:]), 16, 32)
		if err != nil || r <= 0x9f || !printable.Steers(rune(r)) {
			return found
		}
		return append([]byte(`\u0001`), found...)
	})
}

// jsonEscape matches \uXXXX, or any other escape, which is skipped.
var jsonEscape = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|.)`)

// yamlMark matches a mark and the rune after it; YAML writes U+2028 as \L and U+2029 as \P.
var yamlMark = regexp.MustCompile(`\\x01(\\L|\\P|\pZ|\p{Cf})`)

// quoted removes the marks and writes the marked runes as \uXXXX.
func quoted(data []byte) []byte {
	return yamlMark.ReplaceAllFunc(data, func(found []byte) []byte {
		marked := found[len(`\x01`):]
		r, _ := utf8.DecodeRune(marked)
		switch {
		case r == '\\':
			return marked
		case printable.Steers(r):
			return []byte(printable.Quote(r))
		}
		return found
	})
}

// WriteValue writes any value that marshals to JSON.
func (a *App) WriteValue(f Format, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("as JSON: %w", err)
	}
	return a.writeJSON(f, data)
}

// WriteProto writes a message. Its JSON is compacted first, because protojson varies its
// whitespace on purpose.
func (a *App) WriteProto(f Format, m proto.Message) error {
	data, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return fmt.Errorf("as JSON: %w", err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return fmt.Errorf("as JSON: %w", err)
	}
	return a.writeJSON(f, compact.Bytes())
}
