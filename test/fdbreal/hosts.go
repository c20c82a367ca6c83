package fdbreal

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	hostsFile = "/etc/hosts"
	hostsMark = " # rollcall test of FoundationDB"
)

// nameHosts makes the pods' host names known on this machine until the test ends. It skips tests of people who may not.
func nameHosts(t testing.TB, pods []*Pod) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("names in " + hostsFile + " are added by root only")
	}
	var all []string
	for _, p := range pods {
		all = append(all, hostOf(p.Name))
	}
	addHosts(t, all...)
	t.Cleanup(func() { dropHosts(t, all...) })
}

func addHosts(t testing.TB, names ...string) {
	file, err := os.ReadFile(hostsFile)
	require.NoError(t, err)
	text := string(file)
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for _, name := range names {
		if line := hostsLine(name); !strings.Contains(text, line) {
			text += line
		}
	}
	require.NoError(t, os.WriteFile(hostsFile, []byte(text), 0o644))
}

// dropHosts makes names unknown that a test has added.
func dropHosts(t testing.TB, names ...string) {
	file, err := os.ReadFile(hostsFile)
	require.NoError(t, err)
	text := string(file)
	for _, name := range names {
		text = strings.ReplaceAll(text, hostsLine(name), "")
	}
	require.NoError(t, os.WriteFile(hostsFile, []byte(text), 0o644))
}

func hostsLine(name string) string { return "127.0.0.1 " + name + hostsMark + "\n" }
