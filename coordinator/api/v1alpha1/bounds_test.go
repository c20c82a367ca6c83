package v1alpha1

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

type shape struct {
	Type                 string           `json:"type"`
	Format               string           `json:"format"`
	Enum                 []any            `json:"enum"`
	MaxLength            int              `json:"maxLength"`
	MaxItems             int              `json:"maxItems"`
	MaxProperties        int              `json:"maxProperties"`
	Properties           map[string]shape `json:"properties"`
	Items                *shape           `json:"items"`
	AdditionalProperties *shape           `json:"additionalProperties"`
}

func definition(t *testing.T) shape {
	text, err := os.ReadFile("../../../deploy/chart/files/rollcall.dev_databaseclusters.yaml")
	require.NoError(t, err)
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema shape `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	require.NoError(t, yaml.Unmarshal(text, &crd))
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// unbounded are the paths of texts, lists and maps that may be of any size.
func (s shape) unbounded(path string) (out []string) {
	free := false
	switch s.Type {
	case "string":
		free = s.MaxLength == 0 && s.Enum == nil && s.Format != "date-time"
	case "array":
		free = s.MaxItems == 0
		out = append(out, s.Items.unbounded(path+"[]")...)
	case "object":
		if s.AdditionalProperties != nil {
			free = s.MaxProperties == 0
			out = append(out, s.AdditionalProperties.unbounded(path+"{}")...)
		}
	}
	if free {
		out = append(out, path)
	}
	for name, field := range s.Properties {
		out = append(out, field.unbounded(path+"."+name)...)
	}
	return out
}

func (s shape) at(path string) shape {
	for name := range strings.SplitSeq(path, ".") {
		name, list := strings.CutSuffix(name, "[]")
		if s = s.Properties[name]; list {
			s = *s.Items
		}
	}
	return s
}

// longest is the largest bound of a text in it.
func (s shape) longest() int {
	most := s.MaxLength
	for _, field := range s.Properties {
		most = max(most, field.longest())
	}
	if s.Items != nil {
		most = max(most, s.Items.longest())
	}
	return most
}

// A DatabaseCluster is in the memory of every coordinator, so whoever may write one may not fill
// it.
func TestEveryTextIsBounded(t *testing.T) {
	require.ElementsMatch(t, []string{".apiVersion", ".kind", ".status.updateRevisions{}"}, definition(t).unbounded(""),
		"the first two name this definition, of the last there are at most a thousand")
}

// What a coordinator writes, the API server takes.
func TestBoundsAreThoseOfTheProgram(t *testing.T) {
	d := definition(t)
	require.Equal(t, MaxReason, d.at("spec.overrides[].reason").MaxLength)
	require.Equal(t, MaxSpecText, d.Properties["spec"].longest())
	require.Equal(t, maxStatusText, d.Properties["status"].longest())
	require.Equal(t, MaxGroup, d.at("status.holds[].group").MaxLength)
	require.Equal(t, MaxText, d.at("status.holds[].reason").MaxLength)
	require.Equal(t, MaxText, d.at("status.holds[].unblocks").MaxLength)
	require.Equal(t, MaxVersion, d.at("status.lastFinished[].version").MaxLength)
	require.Equal(t, MaxHolds, d.at("status").Properties["holds"].MaxItems)
	require.Equal(t, MaxPodConditions, d.at("status").Properties["podConditions"].MaxItems)
	const maxUndo = 4 << 10 // of an agent
	for _, undo := range []string{"status.claims[].undo", "status.pendingRestores[].undo", "status.clusterSettings[].undo"} {
		require.GreaterOrEqual(t, d.at(undo).MaxLength, (maxUndo+2)/3*4, "%s, as base64", undo)
	}
}

func TestCut(t *testing.T) {
	require.Equal(t, "abc", Cut("abc", 3))
	for most := 3; most < 12; most++ {
		cut := Cut("\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", most)
		require.LessOrEqual(t, len(cut), most)
		require.True(t, utf8.ValidString(cut))
	}
}
