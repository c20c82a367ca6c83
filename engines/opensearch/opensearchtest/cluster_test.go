package opensearchtest

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRealCluster checks that three nodes find each other, keep copies, and take one back that was
// unavailable.
func TestRealCluster(t *testing.T) {
	for _, version := range Versions {
		t.Run(version, func(t *testing.T) {
			c := Start(t, Options{Versions: []string{version, version, version}})
			n := c.Nodes[0]
			var root struct {
				Name    string `json:"name"`
				Version struct {
					Distribution string `json:"distribution"`
					Number       string `json:"number"`
				} `json:"version"`
			}
			require.NoError(t, json.Unmarshal(n.Call(http.MethodGet, "/", ""), &root))
			require.Equal(t, "node-0", root.Name)
			require.Equal(t, "opensearch", root.Version.Distribution)
			require.Equal(t, version, root.Version.Number)
			n.CreateIndex("logs", 1, 2)
			n.AwaitHealth("green", 3)
			c.Nodes[2].Stop()
			require.True(t, c.Nodes[2].Ended())
			n.AwaitHealth("yellow", 2)
			c.Nodes[2].Start()
			c.Nodes[2].AwaitUp()
			n.AwaitHealth("green", 3)
		})
	}
}
