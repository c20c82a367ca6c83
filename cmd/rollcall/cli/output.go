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

// Rendered is JSON with indentation, or as YAML.
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

// marked is JSON that becomes YAML in which texts with runes that steer a terminal
// are between quotation marks: only there can those be written as \uXXXX. YAML quotes
// control characters by itself, so each other one gets one before it.
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

// jsonEscape is one of a rune, or of a character, which is passed over with it.
var jsonEscape = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|.)`)

// yamlMark is a mark and what it is for; YAML writes U+2028 as \L and U+2029 as \P.
var yamlMark = regexp.MustCompile(`\\x01(\\L|\\P|\pZ|\p{Cf})`)

// quoted takes the marks away.
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

// WriteValue writes what has a JSON form.
func (a *App) WriteValue(f Format, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("as JSON: %w", err)
	}
	return a.writeJSON(f, data)
}

// WriteProto writes a message. Its JSON is made compact first, because its
// spaces differ from run to run by intent.
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
