package mysql

import (
	"testing"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/stretchr/testify/require"
)

func TestFacts(t *testing.T) {
	require.Equal(t, map[int]string{9: "8.4.0"}, newEngine(nil, Options{}).Facts().MinSource)
	require.Equal(t, engines.Facts{Name: "MariaDB", SettleSeconds: 5, Unlisted: true, OwnAgentOnly: true, Topologies: true}, newEngine(nil, Options{Flavor: replication.MariaDB}).Facts())
}
