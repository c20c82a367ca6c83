package enroll

import "github.com/rollcall-dev/rollcall/coordinator/model"

// specOf returns the smallest spec in deploy/examples for a database of this kind.
func specOf(engine model.Engine, credentialsSecret string, observe bool) model.Spec {
	spec := model.Spec{Engine: engine, Connection: model.Connection{CredentialsSecret: credentialsSecret}}
	if observe {
		spec.Update.Mode = model.ModeObserve
	}
	one, limit := model.Count(1), model.Count(1)
	spec.Policy.MaxUnavailable, spec.Policy.MaxShardUnavailable = &limit, &one
	switch engine {
	case model.Solr:
		limit = model.Percent(25)
	case model.MySQL, model.MariaDB, model.Galera:
		// The address in the account's name; localhost may be ::1.
		spec.Connection.Host = "127.0.0.1"
	case model.FoundationDB:
		// Zones and groups say how many; a whole zone may always go.
		limit, spec.Policy.MaxShardUnavailable = model.Percent(100), nil
	}
	return spec
}
