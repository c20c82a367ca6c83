package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/cmd/printable"
)

// Logs are read by kubectl logs, on terminals.
func TestLogsDoNotSteerATerminal(t *testing.T) {
	var out bytes.Buffer
	before := stderr
	stderr = printable.NewWriter(&out)
	t.Cleanup(func() { stderr = before })
	o := options{namespace: "n", identity: "i", agentImage: "a", service: "s", grpcAddr: ":1", httpAddr: ":2", webhook: ":3", logLevel: "info"}
	log, err := o.validate()
	require.NoError(t, err)
	log.Info("a database says \u202eevil", "reason", "\u009b31m\x1b[2J\x7f")
	require.Contains(t, out.String(), `a database says \u202eevil`)
	require.Contains(t, out.String(), `"reason":"\u009b31m\u001b[2J\u007f"`)
}
