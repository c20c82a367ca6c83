package enroll

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// What is written for each engine is what its example has.
func TestSpecsAreThoseOfTheExamples(t *testing.T) {
	for _, engine := range Engines {
		data, err := os.ReadFile("../../../deploy/examples/" + strings.ToLower(string(engine)) + ".yaml")
		require.NoError(t, err)
		var example v1alpha1.DatabaseCluster
		for _, document := range strings.Split(string(data), "\n---\n") {
			if strings.Contains(document, "kind: "+v1alpha1.Kind) {
				require.NoError(t, yaml.UnmarshalStrict([]byte(document), &example), engine)
			}
		}
		want := example.Spec
		got := specOf(engine, want.Connection.CredentialsSecret, want.Update.Mode == model.ModeObserve)
		require.Equal(t, want.WithDefaults(), got.WithDefaults(), engine)
	}
}
