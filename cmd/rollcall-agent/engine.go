package main

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/opensearch"
	"github.com/rollcall-dev/rollcall/engines/solr"
)

// engineFrom answers what makes the adapter that a configuration asks for. The
// directory holds the database's credentials, which adapters read anew when they
// need them.
func engineFrom(credentials string) func(config.File) (engines.Engine, error) {
	return func(f config.File) (engines.Engine, error) {
		switch f.Engine {
		case "Solr":
			return solrEngine(f.Connection, credentials)
		case "OpenSearch":
			return openSearchEngine(f.Connection, credentials)
		default:
			return nil, fmt.Errorf("engine %q is not supported by this version; supported: Solr, OpenSearch", f.Engine)
		}
	}
}

func solrEngine(c config.Connection, credentials string) (engines.Engine, error) {
	o := solr.Options{
		Host:        c.Host,
		Port:        c.Port,
		Credentials: solr.CredentialsFromDir(credentials),
		TLS: solr.TLS{
			Enabled:            c.TLS.Enabled,
			CA:                 c.TLS.CA,
			ServerName:         c.TLS.ServerName,
			InsecureSkipVerify: c.TLS.InsecureSkipVerify,
		},
		// On unless it is turned off: what an evacuation moved away would else never
		// come back.
		BalanceAfterUpdate: c.BalanceAfterUpdate == nil || *c.BalanceAfterUpdate,
	}
	return solr.New(o)
}

func openSearchEngine(c config.Connection, credentials string) (engines.Engine, error) {
	return opensearch.New(opensearch.Options{
		Host:        c.Host,
		Port:        c.Port,
		Credentials: opensearch.CredentialsFromDir(credentials),
		TLS: opensearch.TLS{
			Enabled:            c.TLS.Enabled,
			CA:                 c.TLS.CA,
			ServerName:         c.TLS.ServerName,
			InsecureSkipVerify: c.TLS.InsecureSkipVerify,
		},
	})
}
