package enroll

import (
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/engines/opensearch"
	"github.com/rollcall-dev/rollcall/engines/solr"
)

// smallestRole is the role of the agents' user; empty where only the documents have it.
func smallestRole(e model.Engine) string {
	switch e {
	case model.OpenSearch:
		return opensearch.SmallestRole().JSON()
	case model.Solr:
		return solr.SmallestRole().JSON()
	}
	return ""
}
