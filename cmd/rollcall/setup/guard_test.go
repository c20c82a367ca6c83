package setup

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What stays behind is named with the command that ends it.
func TestHeldStatefulSetsAreToldWithTheCommand(t *testing.T) {
	text := heldText("prod/search")
	require.Contains(t, text, "StatefulSet prod/search is held")
	require.Contains(t, text, "kubectl -n prod patch statefulset search --type=json -p '[{")
	require.Contains(t, text, `"path":"/spec/updateStrategy/rollingUpdate/partition","value":0}]'`)
}
