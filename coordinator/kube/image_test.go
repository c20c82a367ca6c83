package kube

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTag(t *testing.T) {
	for image, tag := range map[string]string{
		"solr:9.10.0":                            "9.10.0",
		"registry.example:5000/db/solr:9.10.0":   "9.10.0",
		"registry.example:5000/db/solr":          "",
		"solr":                                   "",
		"solr:9.10.0@sha256:0123456789abcdef":    "9.10.0",
		"registry.example:5000/solr@sha256:0123": "",
		"":                                       "",
	} {
		require.Equal(t, tag, Tag(image), image)
	}
}
