package enroll

import "github.com/rollcall-dev/rollcall/coordinator/policy"

// specOf is the least that deploy/examples has for a database of this kind.
func specOf(engine policy.Engine, credentialsSecret string, observe bool) policy.Spec {
	spec := policy.Spec{Engine: engine, Connection: policy.Connection{CredentialsSecret: credentialsSecret}}
	if observe {
		spec.Update.Mode = policy.Observe
	}
	one, limit := policy.Count(1), policy.Count(1)
	spec.Policy.MaxUnavailable, spec.Policy.MaxShardUnavailable = &limit, &one
	switch engine {
	case policy.Solr:
		limit = policy.Percent(25)
	case policy.MySQL, policy.MariaDB:
		// The address in the account's name; localhost may be ::1.
		spec.Connection.Host = "127.0.0.1"
	case policy.FoundationDB:
		// Zones and groups say how many; a whole zone may always go.
		limit, spec.Policy.MaxShardUnavailable = policy.Percent(100), nil
	}
	return spec
}
