package sql

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/web"
)

func TestTLSNamesTheServer(t *testing.T) {
	c, err := secured(web.Access{Host: "db", TLS: web.TLS{Enabled: true}})
	require.NoError(t, err)
	require.False(t, c.InsecureSkipVerify)
	require.Equal(t, "db", c.ServerName)
	c, err = secured(web.Access{Host: "db"})
	require.NoError(t, err)
	require.Nil(t, c)
}
