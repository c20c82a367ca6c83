package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// checkYAML reports what the conversion to JSON would drop silently or report misleadingly.
func checkYAML(data []byte, kind string) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var first, next yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("empty: must be a %s in JSON or YAML", kind)
	case err != nil:
		return fmt.Errorf("neither JSON nor YAML: %w", err)
	}
	for {
		err := decoder.Decode(&next)
		if errors.Is(err, io.EOF) {
			return checkNode(&first, "")
		}
		if err != nil {
			return fmt.Errorf("something follows the first document; only one %s is allowed: %w", kind, err)
		}
		if root := next.Content[0]; root.Tag != "!!null" {
			return fmt.Errorf("line %d: a second document begins here; only one %s is allowed", root.Line, kind)
		}
	}
}

// checkNode finds what JSON cannot express. Aliases are checked at their anchors.
func checkNode(node *yaml.Node, path string) error {
	switch node.Kind {
	case yaml.DocumentNode:
		return checkNode(node.Content[0], path)
	case yaml.ScalarNode:
		if text := strings.ToLower(strings.TrimLeft(node.Value, "+-")); node.ShortTag() == "!!float" && (text == ".nan" || text == ".inf") {
			return fmt.Errorf("line %d: %s is %s: must be a number", node.Line, path, node.Value)
		}
	case yaml.SequenceNode:
		for i, child := range node.Content {
			if err := checkNode(child, path+"["+strconv.Itoa(i)+"]"); err != nil {
				return err
			}
		}
	case yaml.MappingNode:
		return checkMapping(node, path)
	}
	return nil
}

func checkMapping(node *yaml.Node, path string) error {
	lines := make(map[string]int, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, below := node.Content[i], path
		if below != "" {
			below += "."
		}
		below += key.Value
		if line := lines[key.Value]; line > 0 && key.Kind == yaml.ScalarNode {
			return fmt.Errorf("line %d: %s is given twice, first in line %d", key.Line, below, line)
		}
		lines[key.Value] = key.Line
		if err := checkNode(node.Content[i+1], below); err != nil {
			return err
		}
	}
	return nil
}
