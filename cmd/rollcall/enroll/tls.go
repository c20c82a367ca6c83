package enroll

import (
	"errors"
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// TLS says how agents speak to their database. The zero value says nothing.
type TLS struct {
	// Enabled is nil where nothing is said.
	Enabled *bool
	// CASecret has the certificate of the servers' authority, and ClientSecret the one that agents
	// show.
	CASecret, ClientSecret string
	// ServerName is the name that a server's certificate must have.
	ServerName string
}

// Complete has the Secrets and the name mean that TLS is on.
func (t *TLS) Complete() error {
	if t.CASecret == "" && t.ClientSecret == "" && t.ServerName == "" {
		return nil
	}
	if t.Enabled != nil && !*t.Enabled {
		return errors.New("--tls is false: leave out --ca-secret, --server-name and --client-secret, which are for TLS")
	}
	yes := true
	t.Enabled = &yes
	return nil
}

// write writes what is said into the connection of a DatabaseCluster.
func (t TLS) write(c *model.Connection) {
	if t.Enabled == nil || !*t.Enabled {
		return
	}
	c.TLS.Enabled, c.TLS.CASecret, c.TLS.ServerName, c.TLS.ClientSecret = true, t.CASecret, t.ServerName, t.ClientSecret
}

// differs says what contradicts the connection of a DatabaseCluster; empty means nothing.
func (t TLS) differs(c model.Connection) string {
	switch is := c.TLS; {
	case t.Enabled != nil && *t.Enabled != is.Enabled:
		return fmt.Sprintf("--tls is %t", *t.Enabled)
	case t.CASecret != "" && t.CASecret != is.CASecret:
		return "--ca-secret is " + t.CASecret
	case t.ClientSecret != "" && t.ClientSecret != is.ClientSecret:
		return "--client-secret is " + t.ClientSecret
	case t.ServerName != "" && t.ServerName != is.ServerName:
		return "--server-name is " + t.ServerName
	}
	return ""
}

// Connection is a connection of which nothing else is known.
func (t TLS) Connection(credentialsSecret string) *model.Connection {
	if t.Enabled == nil && credentialsSecret == "" {
		return nil
	}
	c := model.Connection{CredentialsSecret: credentialsSecret}
	t.write(&c)
	return &c
}
