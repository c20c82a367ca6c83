package coordinator

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/foundationdb"
	"github.com/rollcall-dev/rollcall/engines/galera"
	"github.com/rollcall-dev/rollcall/engines/mysql"
	"github.com/rollcall-dev/rollcall/engines/opensearch"
	"github.com/rollcall-dev/rollcall/engines/solr"
	"github.com/rollcall-dev/rollcall/engines/web"
	"github.com/rollcall-dev/rollcall/engines/zookeeper"
)

// engineFacts returns what the policy must know about an engine. About an engine that this version
// does not know nothing is known; its agents refuse to work, so nothing is ever fresh enough to act
// on.
func engineFacts(engine model.Engine) engines.Facts {
	switch engine {
	case model.Solr:
		return new(solr.Engine).Facts()
	case model.OpenSearch:
		return new(opensearch.Engine).Facts()
	case model.MySQL:
		return mysql.FactsOf(mysql.MySQL)
	case model.MariaDB:
		return mysql.FactsOf(mysql.MariaDB)
	case model.FoundationDB:
		return new(foundationdb.Engine).Facts()
	case model.Galera:
		return new(galera.Engine).Facts()
	case model.ZooKeeper:
		return new(zookeeper.Engine).Facts()
	}
	return engines.Facts{MaxMajorStep: 1}
}

// FactsOf returns the facts of an engine that a snapshot has, except those that depend on a
// version.
func FactsOf(engine model.Engine) model.EngineFacts { return policyFacts(engineFacts(engine)) }

func policyFacts(facts engines.Facts) model.EngineFacts {
	return model.EngineFacts{
		SettleSeconds: float64(facts.SettleSeconds), MaxMajorStep: facts.MaxMajorStep, SameMinor: facts.SameMinor,
		ByZone: facts.ByZone, OneAtATime: facts.OneAtATime, OldestLeads: facts.OldestLeads, DataRoles: facts.DataRoles,
	}
}

// plainAdapter reaches a pod's database without credentials.
func plainAdapter(spec model.Spec, ip string) (engines.Engine, error) {
	c := spec.Connection
	if c.CredentialsSecret != "" || c.TLS.Enabled || c.Scheme == "https" {
		return nil, errNoHandoffWithoutAgents
	}
	switch spec.Engine {
	case model.Solr:
		return solr.New(solr.Options{Access: web.Access{Host: ip, Port: int(c.Port)}})
	case model.OpenSearch:
		return opensearch.New(opensearch.Options{Access: web.Access{Host: ip, Port: int(c.Port)}})
	case model.MySQL, model.MariaDB, model.Galera, model.ZooKeeper:
		return nil, errNoHandoffWithoutAgents // it takes several agents
	case model.FoundationDB:
		return nil, errNoHandoffWithoutAgents // its program is in the database's pods
	}
	return nil, fmt.Errorf("engine %s is not supported by this version", spec.Engine)
}
