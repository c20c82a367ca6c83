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
func (c *Connection) Complete() error {
	if c.CASecret == "" && c.ClientSecret == "" && c.ServerName == "" {
		return nil
	}
	if c.Enabled != nil && !*c.Enabled {
		return errors.New("--tls is false: leave out --ca-secret, --server-name and --client-secret, which are for TLS")
	}
	yes := true
	c.Enabled = &yes
	return nil
}

// write writes what is said into the connection of a DatabaseCluster.
func (c Connection) write(to *model.Connection) {
	to.Port = c.Port
	if c.Enabled == nil || !*c.Enabled {
		return
	}
	to.TLS.Enabled, to.TLS.CASecret, to.TLS.ServerName, to.TLS.ClientSecret = true, c.CASecret, c.ServerName, c.ClientSecret
}

// differs says what contradicts the connection of a DatabaseCluster, and in which field; empty means
// nothing.
func (c Connection) differs(of model.Connection) (said, field string) {
	const port, tls = "spec.connection.port", "spec.connection.tls"
	switch is := of.TLS; {
	case c.Port != 0 && c.Port != of.Port:
		return fmt.Sprintf("--port is %d", c.Port), port
	case c.Enabled != nil && *c.Enabled != is.Enabled:
		return fmt.Sprintf("--tls is %t", *c.Enabled), tls
	case c.CASecret != "" && c.CASecret != is.CASecret:
		return "--ca-secret is " + c.CASecret, tls
	case c.ClientSecret != "" && c.ClientSecret != is.ClientSecret:
		return "--client-secret is " + c.ClientSecret, tls
	case c.ServerName != "" && c.ServerName != is.ServerName:
		return "--server-name is " + c.ServerName, tls
	}
	return "", ""
}

// Model is a connection of which nothing else is known.
func (c Connection) Model(credentialsSecret string) *model.Connection {
	if c.Enabled == nil && c.Port == 0 && credentialsSecret == "" {
		return nil
	}
	is := model.Connection{CredentialsSecret: credentialsSecret}
	c.write(&is)
	return &is
}
