package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"
)

// writeJSON writes JSON with indentation, or as YAML.
func (a *app) writeJSON(f format, data []byte) error {
	out, err := rendered(f, data)
	if err != nil {
		return err
	}
	_, err = a.streams.Out.Write(out)
	return err
}

func rendered(f format, data []byte) ([]byte, error) {
	if f == formatYAML {
		out, err := yaml.JSONToYAML(data)
		if err != nil {
			return nil, fmt.Errorf("as YAML: %w", err)
		}
		return out, nil
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		return nil, fmt.Errorf("as JSON: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func (a *app) writeValue(f format, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("as JSON: %w", err)
	}
	return a.writeJSON(f, data)
}

// writeProto writes a message. Its JSON is made compact first, because its
// spaces differ from run to run by intent.
func (a *app) writeProto(f format, m proto.Message) error {
	data, err := protoJSON(m)
	if err != nil {
		return err
	}
	return a.writeJSON(f, data)
}

func protoJSON(m proto.Message) ([]byte, error) {
	data, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("as JSON: %w", err)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, data); err != nil {
		return nil, fmt.Errorf("as JSON: %w", err)
	}
	return out.Bytes(), nil
}
