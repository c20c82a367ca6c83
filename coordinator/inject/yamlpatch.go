package inject

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// patchYAML applies the operations to a YAML document, below the keys of
// base, and keeps its comments, order and ways of writing.
func patchYAML(document *yaml.Node, base []string, ops []operation) error {
	for _, op := range ops {
		value, err := yamlValue(op.Value)
		if err != nil {
			return err
		}
		if err := applyYAML(document.Content[0], append(slices.Clone(base), op.keys...), value); err != nil {
			return fmt.Errorf("%s: %w", op.Path, err)
		}
	}
	return nil
}

// yamlValue is a JSON value as a node, with the keys of mappings in an order
// that people are used to: names first.
func yamlValue(v any) (*yaml.Node, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	node := document.Content[0]
	restyle(node)
	return node, nil
}

// restyle turns what was read from JSON into plain YAML.
func restyle(node *yaml.Node) {
	node.Style = 0
	if node.Kind == yaml.ScalarNode && node.Tag == "!!str" && bytes.ContainsRune([]byte(node.Value), '\n') {
		node.Style = yaml.LiteralStyle
	}
	for _, child := range node.Content {
		restyle(child)
	}
	if node.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == "name" && i > 0 {
			name := slices.Clone(node.Content[i : i+2])
			node.Content = slices.Insert(slices.Delete(node.Content, i, i+2), 0, name...)
		}
	}
}

func applyYAML(node *yaml.Node, keys []string, value *yaml.Node) error {
	own(node)
	key, last := keys[0], len(keys) == 1
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value != key {
				continue
			}
			if last {
				node.Content[i+1] = value
				return nil
			}
			return applyYAML(node.Content[i+1], keys[1:], value)
		}
		if last {
			// An empty mapping may have been written {}: what grows is a block.
			if len(node.Content) == 0 {
				node.Style = 0
			}
			node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
			return nil
		}
	case yaml.SequenceNode:
		if key == "-" && last {
			node.Content = append(node.Content, value)
			return nil
		}
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(node.Content) {
			break
		}
		if last {
			node.Content[i] = value
			return nil
		}
		return applyYAML(node.Content[i], keys[1:], value)
	}
	return fmt.Errorf("line %d has no %s", node.Line, key)
}

// own makes a node that is about to change independent of all that is shared
// with other places: an alias becomes a copy of what it stands for, and keys
// that are merged in become keys of its own.
func own(node *yaml.Node) {
	if node.Kind == yaml.AliasNode {
		*node = *clone(node.Alias)
		node.Anchor = ""
	}
	if node.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Tag != "!!merge" {
			continue
		}
		merged := node.Content[i+1]
		node.Content = slices.Delete(node.Content, i, i+2)
		i -= 2
		sources := []*yaml.Node{merged}
		if merged.Kind == yaml.SequenceNode {
			sources = merged.Content
		}
		for _, source := range sources {
			source = clone(source)
			own(source)
			for j := 0; j+1 < len(source.Content); j += 2 {
				if !hasKey(node, source.Content[j].Value) {
					node.Content = append(node.Content, source.Content[j], source.Content[j+1])
				}
			}
		}
	}
}

func hasKey(mapping *yaml.Node, key string) bool {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return true
		}
	}
	return false
}

// clone copies a node and what is below it; anchors stay with the original.
func clone(node *yaml.Node) *yaml.Node {
	out := *node
	out.Anchor = ""
	out.Content = nil
	for _, child := range node.Content {
		out.Content = append(out.Content, clone(child))
	}
	return &out
}

// encodeYAML writes a document with the indentation that it was read with.
func encodeYAML(document *yaml.Node) ([]byte, error) {
	plainMerges(document)
	indent, compact := layout(document, nil)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	if indent < 2 {
		indent = 2
	}
	encoder.SetIndent(indent)
	if compact {
		encoder.CompactSeqIndent()
	}
	if err := encoder.Encode(document); err != nil {
		return nil, err
	}
	if err := encoder.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// plainMerges has merge keys written as << rather than with their tag.
func plainMerges(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.Tag == "!!merge" {
		node.Tag = ""
	}
	for _, child := range node.Content {
		plainMerges(child)
	}
}

// layout finds how many columns a mapping is indented by, and whether the
// dash of a list stands right below its key.
func layout(node, key *yaml.Node) (indent int, compact bool) {
	if key != nil && key.Line != 0 && node.Line > key.Line && len(node.Content) > 0 {
		switch node.Kind {
		case yaml.MappingNode:
			indent = node.Column - key.Column
		case yaml.SequenceNode:
			compact = node.Column == key.Column
		}
	}
	sequenceSeen := node.Kind == yaml.SequenceNode && key != nil
	for i, child := range node.Content {
		var childKey *yaml.Node
		if node.Kind == yaml.MappingNode && i%2 == 1 {
			childKey = node.Content[i-1]
		}
		childIndent, childCompact := layout(child, childKey)
		if indent == 0 {
			indent = childIndent
		}
		if !sequenceSeen {
			compact = compact || childCompact
		}
	}
	return indent, compact
}
