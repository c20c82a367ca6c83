// Package solrtest runs real SolrCloud nodes and ZooKeeper as processes on
// loopback, for tests.
package solrtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// EnvHome names the folder with Solr in it:
//
//	lib-VERSION/      the jars of a node and of ZooKeeper, for each version
//	classes-VERSION/  the main class, dev.rollcall.solr.SolrNode, and solr.xml
//	conf/             the configset of new collections
//	etc/              log4j2.xml
//	java/             a Java for all of them
//
// The images under test/images are made of the same folder.
const EnvHome = "ROLLCALL_SOLR_HOME"

// EnvRequire makes a missing server a failure where it holds "solr" (names
// separated by commas).
const EnvRequire = "ROLLCALL_REQUIRE"

// EnvAll has the tests run on every version, not only on the newest.
const EnvAll = "ROLLCALL_SOLR_ALL"

// Versions that the folder holds, oldest first.
var Versions = []string{"8.11.4", "9.10.1", "10.0.0"}

// Tried are the versions on which a test runs that has to hold on each of them.
func Tried() []string {
	if os.Getenv(EnvAll) != "" {
		return Versions
	}
	return Versions[len(Versions)-1:]
}

// Home finds the folder, or skips the test.
func Home(t testing.TB, versions ...string) string {
	t.Helper()
	home := os.Getenv(EnvHome)
	missing := ""
	if home == "" {
		missing = EnvHome + " is not set: no real Solr to test against"
	}
	for _, part := range append([]string{"java", "conf", "etc"}, parts(versions)...) {
		if _, err := os.Stat(filepath.Join(home, part)); missing == "" && err != nil {
			missing = EnvHome + ": " + err.Error()
		}
	}
	if missing == "" {
		return home
	}
	if required() {
		t.Fatal(missing + " (" + EnvRequire + " asks for it)")
	}
	t.Skip(missing)
	return ""
}

func parts(versions []string) []string {
	var out []string
	for _, v := range versions {
		out = append(out, "lib-"+v, "classes-"+v)
	}
	return out
}

func required() bool {
	names := strings.FieldsFunc(os.Getenv(EnvRequire), func(r rune) bool { return r == ',' || r == ' ' })
	return slices.Contains(names, "solr")
}
