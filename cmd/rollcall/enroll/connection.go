package enroll

import (
	"errors"
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Connection says how agents connect to their database. The zero value says nothing.
type Connection struct {
	// Port is 0 where nothing is said: the usual one.
	Port int32
	// Enabled says whether with TLS; nil says nothing.
	Enabled *bool
	// CASecret has the certificate of the servers' authority, and ClientSecret the one that agents
	// show.
	CASecret, ClientSecret string
	// ServerName is the name that a server's certificate must have.
	ServerName string
}

// Complete has the Secrets and the name mean that TLS is on.
func (t *Connection) Complete() error {
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
func (t Connection) write(c *model.Connection) {
	c.Port = t.Port
	if t.Enabled == nil || !*t.Enabled {
		return
	}
	c.TLS.Enabled, c.TLS.CASecret, c.TLS.ServerName, c.TLS.ClientSecret = true, t.CASecret, t.ServerName, t.ClientSecret
}

// differs says what contradicts the connection of a DatabaseCluster, and in which field; empty means
// nothing.
func (t Connection) differs(c model.Connection) (said, field string) {
	const port, tls = "spec.connection.port", "spec.connection.tls"
	switch is := c.TLS; {
	case t.Port != 0 && t.Port != c.Port:
		return fmt.Sprintf("--port is %d", t.Port), port
	case t.Enabled != nil && *t.Enabled != is.Enabled:
		return fmt.Sprintf("--tls is %t", *t.Enabled), tls
	case t.CASecret != "" && t.CASecret != is.CASecret:
		return "--ca-secret is " + t.CASecret, tls
	case t.ClientSecret != "" && t.ClientSecret != is.ClientSecret:
		return "--client-secret is " + t.ClientSecret, tls
	case t.ServerName != "" && t.ServerName != is.ServerName:
		return "--server-name is " + t.ServerName, tls
	}
	return "", ""
}

// Model is a connection of which nothing else is known.
func (t Connection) Model(credentialsSecret string) *model.Connection {
	if t.Enabled == nil && t.Port == 0 && credentialsSecret == "" {
		return nil
	}
	c := model.Connection{CredentialsSecret: credentialsSecret}
	t.write(&c)
	return &c
}
