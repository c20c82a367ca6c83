package enroll

import (
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/engines/opensearch"
)

// smallestRole is the role of the agents' user; empty where only the documents have it.
func smallestRole(e model.Engine) string {
	if e == model.OpenSearch {
		return opensearch.SmallestRole().JSON()
	}
	return ""
}
