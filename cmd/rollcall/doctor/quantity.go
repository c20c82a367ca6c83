package doctor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
)

// badQuantity names the first field of an object that should be a quantity and is none; empty means
// there is none. The decoder's own error says neither field nor value.
func badQuantity(object []byte) string {
	var tree any
	if json.Unmarshal(object, &tree) != nil {
		return ""
	}
	return quantitiesIn(tree, "")
}

func quantitiesIn(node any, path string) string {
	switch node := node.(type) {
	case []any:
		for i, child := range node {
			if found := quantitiesIn(child, fmt.Sprintf("%s[%d]", path, i)); found != "" {
				return found
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			at := key
			if path != "" {
				at = path + "." + key
			}
			found := ""
			switch key {
			case "requests", "limits", "capacity", "overhead":
				found = quantitiesOf(node[key], at)
			case "sizeLimit", "divisor":
				found = quantity(node[key], at)
			default:
				found = quantitiesIn(node[key], at)
			}
			if found != "" {
				return found
			}
		}
	}
	return ""
}

// quantitiesOf looks at a list of resources, such as limits.
func quantitiesOf(node any, path string) string {
	list, ok := node.(map[string]any)
	if !ok {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if found := quantity(list[name], path+"."+name); found != "" {
			return found
		}
	}
	return ""
}

func quantity(value any, path string) string {
	text, ok := value.(string)
	if !ok {
		return "" // a number is one
	}
	if _, err := resource.ParseQuantity(text); err != nil {
		return fmt.Sprintf("%s is %.64q: must be a quantity, such as 500m, 4Gi or 10G", path, text)
	}
	return ""
}
