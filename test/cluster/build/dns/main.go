// Command dns is the cluster's name server: CoreDNS with no more than the plugins that the local cluster needs,
// which builds several times faster than all of it.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/loop"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

// The order is the order in which a query passes through the plugins.
func init() {
	dnsserver.Directives = []string{
		"bind", "health", "ready", "errors", "log", "cache", "kubernetes", "template", "loop",
	}
}

func main() { coremain.Run() }
