package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// checkYAML reports what the conversion to JSON would drop silently: all but the first document.
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
			return nil
		}
		if err != nil {
			return fmt.Errorf("something follows the first document; only one %s is allowed: %w", kind, err)
		}
		if root := next.Content[0]; root.Tag != "!!null" {
			return fmt.Errorf("line %d: a second document begins here; only one %s is allowed", root.Line, kind)
		}
	}
}
