package setup

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/enroll"
)

// connectionFlags are the flags that say how agents connect to their database.
func connectionFlags(cmd *cobra.Command, c *enroll.Connection, credentials *string) {
	flags := cmd.Flags()
	flags.Int32Var(&c.Port, "port", 0, "port on which the database serves its clients; default: the usual one of its kind")
	c.Enabled = new(bool)
	flags.BoolVar(c.Enabled, "tls", false, "whether the database speaks TLS; default: what its objects and pods say must be named")
	flags.StringVar(&c.CASecret, "ca-secret", "", "Secret with the certificate of the authority of the database's servers, under ca.crt")
	flags.StringVar(&c.ServerName, "server-name", "", "name that the servers' certificate must have; default: localhost, or the connection's host")
	flags.StringVar(&c.ClientSecret, "client-secret", "", "Secret of type kubernetes.io/tls with the certificate that agents show to the servers")
	flags.StringVar(credentials, "credentials-secret", "", "Secret with the username and password of the agents")
}

// readConnectionFlags checks them, and forgets --tls where it was not given.
func readConnectionFlags(cmd *cobra.Command, c *enroll.Connection) error {
	for _, flag := range []string{"ca-secret", "server-name", "client-secret", "credentials-secret"} {
		if cmd.Flags().Changed(flag) && cmd.Flag(flag).Value.String() == "" {
			return fmt.Errorf("--%s is empty: must be a name", flag)
		}
	}
	for _, flag := range []string{"ca-secret", "client-secret", "credentials-secret"} {
		name := cmd.Flag(flag).Value.String()
		if why := validation.IsDNS1123Subdomain(name); name != "" && len(why) > 0 {
			return fmt.Errorf("--%s %q: must be the name of a Secret: %s", flag, name, why[0])
		}
	}
	if cmd.Flags().Changed("port") && (c.Port < 1 || c.Port > 65535) {
		return fmt.Errorf("--port is %d: must be 1 to 65535", c.Port)
	}
	if !cmd.Flags().Changed("tls") {
		c.Enabled = nil
	}
	return c.Complete()
}
