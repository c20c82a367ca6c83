package foundationdb

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// byHost is the healthy example with coordinators by host name, as the status of a client shows them.
func byHost(t *testing.T, shown func(pod, address string) string) document {
	d := healthy(t)
	var names []string
	for i, process := range []string{"a0", "a1", "a3"} {
		pod := "fdb-" + process[1:]
		names = append(names, pod+".fdb.prod.svc:4500")
		seat(d, i)["address"] = shown(pod, d.process(process)["address"].(string))
	}
	for _, process := range []string{"a0", "a1", "a2", "a3"} {
		d.process(process)["locality"].(map[string]any)["dns_name"] = "fdb-" + process[1:] + ".fdb.prod.svc"
	}
	d.at("cluster")["connection_string"] = "fdb:abc@" + strings.Join(names, ",")
	return d
}

// TestNamesAreSent checks what is said to fdbcli where coordinators are named by host: the names as
// they are, all of them, and nothing that was resolved. Where one is missing nothing is said.
func TestNamesAreSent(t *testing.T) {
	name := func(pod, _ string) string { return pod + ".fdb.prod.svc:4500" }
	resolved := func(_, address string) string { return address + "(fromHostname)" }
	order := engines.Order{Kind: engines.Evacuate, Claim: "c"}
	for _, shown := range []func(string, string) string{name, resolved} {
		e, calls := telling(t, byHost(t, shown).text(), Options{Instance: "fdb-0"})
		p := apply(t, e, order, plan(t, e, order))
		require.Equal(t, engines.ProgressRunning, p.State)
		require.Contains(t, p.Detail, "its seat among the coordinators moved to another pod")
		require.Equal(t, []string{"coordinators fdb-2.fdb.prod.svc:4500 fdb-1.fdb.prod.svc:4500 fdb-3.fdb.prod.svc:4500"}, calls())
	}

	d := byHost(t, name)
	quorum := d.at("client.coordinators")
	quorum["coordinators"] = quorum["coordinators"].([]any)[:2]
	e, calls := telling(t, d.text(), Options{Instance: "fdb-0"})
	p := apply(t, e, order, plan(t, e, order))
	require.Equal(t, engines.ProgressRefused, p.State)
	require.Contains(t, p.Detail, "names 3 coordinators and the status lists 2")
	require.Empty(t, calls())
}
