package coordinator

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/foundationdb"
	"github.com/rollcall-dev/rollcall/engines/mysql"
	"github.com/rollcall-dev/rollcall/engines/opensearch"
	"github.com/rollcall-dev/rollcall/engines/solr"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// engineFacts are what the policy must know of an engine. Of one that is not known
// to this version nothing is; its agents refuse to work, so nothing is ever fresh
// enough to act on.
func engineFacts(engine policy.Engine) engines.Facts {
	switch engine {
	case policy.Solr:
		return new(solr.Engine).Facts()
	case policy.OpenSearch:
		return new(opensearch.Engine).Facts()
	case policy.MySQL:
		return mysql.FactsOf(mysql.MySQL)
	case policy.MariaDB:
		return mysql.FactsOf(mysql.MariaDB)
	case policy.FoundationDB:
		return new(foundationdb.Engine).Facts()
	}
	return engines.Facts{MaxMajorStep: 1}
}

// policyFacts are those that do not depend on a version.
func policyFacts(facts engines.Facts) policy.EngineFacts {
	return policy.EngineFacts{SettleSeconds: float64(facts.SettleSeconds), MaxMajorStep: facts.MaxMajorStep, SameMinor: facts.SameMinor}
}

// plainAdapter reaches a pod's database without credentials.
func plainAdapter(spec policy.Spec, ip string) (engines.Engine, error) {
	c := spec.Connection
	if c.CredentialsSecret != "" || c.TLS.Enabled || c.Scheme == "https" {
		return nil, errNotUnaided
	}
	switch spec.Engine {
	case policy.Solr:
		return solr.New(solr.Options{Access: web.Access{Host: ip, Port: int(c.Port)}})
	case policy.OpenSearch:
		return opensearch.New(opensearch.Options{Host: ip, Port: int(c.Port)})
	case policy.MySQL, policy.MariaDB:
		return nil, errNotUnaided // several agents hand over together
	case policy.FoundationDB:
		return nil, errNotUnaided // its program is in the database's pods
	}
	return nil, fmt.Errorf("engine %s is not supported by this version", spec.Engine)
}
