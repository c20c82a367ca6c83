// Package opensearchtest runs real OpenSearch nodes as processes on loopback,
// for tests.
package opensearchtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// EnvHome names the folder with OpenSearch in it:
//
//	VERSION/  lib, modules and, from 3.0 on, agent, for each version; plugins/opensearch-security in SecuredVersions
//	etc/      log4j2.properties
//	java/     a Java for all of them; without it one of the machine's is taken
//
// The images under test/images are made of the same folder.
const EnvHome = "ROLLCALL_OPENSEARCH_HOME"

// EnvRequire makes a missing server a failure where it holds "opensearch"
// (names separated by commas).
const EnvRequire = "ROLLCALL_REQUIRE"

// Versions that the folder holds: the two ends of an upgrade, oldest first.
var Versions = []string{"2.19.6", "3.8.0"}

// Home finds the folder, or skips the test.
func Home(t testing.TB, versions ...string) string {
	t.Helper()
	home, missing := find(os.Getenv(EnvHome), versions)
	if missing == "" {
		return home
	}
	if required(os.Getenv(EnvRequire)) {
		t.Fatal(missing + " (" + EnvRequire + " asks for it)")
	}
	t.Skip(missing)
	return ""
}

// find says what is missing to run nodes of these versions.
func find(home string, versions []string) (string, string) {
	if home == "" {
		return "", EnvHome + " is not set: no real OpenSearch to test against"
	}
	for _, part := range append([]string{"etc"}, versions...) {
		if _, err := os.Stat(filepath.Join(home, part)); err != nil {
			return "", EnvHome + ": " + err.Error()
		}
	}
	for _, v := range versions {
		if _, err := java(home, v); err != nil {
			return "", err.Error()
		}
	}
	return home, ""
}

func required(names string) bool {
	return slices.Contains(strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' }), "opensearch")
}
