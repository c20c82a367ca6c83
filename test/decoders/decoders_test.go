// Package decoders holds the list of all that reads bytes from outside, and by which fuzz
// target each is tried. test/fuzz.sh runs every target there is.
package decoders

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// fuzzed are the packages that decode, each with its targets.
var fuzzed = map[string][]string{
	"agent/state":             {"FuzzState"},                                             // the state's files
	"agent/config":            {"FuzzFiles"},                                             // what the coordinator's Secret holds
	"agent/gossip":            {"FuzzDecode", "FuzzStream", "FuzzMessage"},               // headlines of others, and what carries them
	"cmd/rollcall/cli":        {"FuzzDecodeSnapshot"},                                    // documents that people pass
	"cmd/rollcall/doctor":     {"FuzzManifest"},                                          // rendered charts
	"coordinator/inject":      {"FuzzManifest", "FuzzReview"},                            // manifests, admission reviews
	"coordinator/journal":     {"FuzzDecode"},                                            // saved journals
	"coordinator/model":       {"FuzzSnapshot"},                                          // snapshots, plans
	"coordinator/people":      {"FuzzProof"},                                             // what people show, and their requests
	"coordinator/pki":         {"FuzzPEM"},                                               // certificates and keys in Secrets
	"coordinator/policy":      {"FuzzDecode", "FuzzGarbage"},                             // snapshots, and decisions on them
	"coordinator/view":        {"FuzzJoin"},                                              // reports of agents
	"engines":                 {"FuzzDecodeUndo", "FuzzOneLine"},                         // undo notes, words of databases
	"engines/foundationdb":    {"FuzzDecodeStatus", "FuzzTexts"},                         // status json and fdbcli's texts
	"engines/zookeeper":       {"FuzzDecode", "FuzzPeers"},                               // words, the configuration and its message, what other members say
	"engines/galera":          {"FuzzDecode", "FuzzPeers"},                               // text values of rows, what other members say
	"engines/mysql":           {"FuzzPeers"},                                             // what other members say and ask for
	"engines/mysql/server":    {"FuzzState"},                                             // text values of rows
	"engines/mysql/gtid":      {"FuzzSet", "FuzzDomains"},                                // GTIDs
	"engines/opensearch":      {"FuzzDecoders", "FuzzDecodeAllocation", "FuzzParseMark"}, // answers over HTTP
	"engines/web":             {"FuzzBounded"},                                           // any answer over HTTP
	"engines/solr":            {"FuzzDecodeClusterStatus", "FuzzDecodeAnswers"},          // answers over HTTP
	"coordinator/agents/wire": {"FuzzDecode"},                                            // messages of agents

	"cmd/rollcall/doctor/mycnf":    {"FuzzRead"},         // option files of MySQL and MariaDB
	"cmd/rollcall/doctor/database": {"FuzzNodeSettings"}, // opensearch.yml, roles and hosts
	"cmd/rollcall/doctor/security": {"FuzzSettings"},     // opensearch.yml, security.json and solr.in.sh in ConfigMaps
}

// inside are those that read only what Rollcall wrote itself, or that no program links.
var inside = map[string]string{
	"agent/agenttest":                   "for tests only",
	"cmd/rollcall/enroll":               "the patches that it wrote itself",
	"cmd/rollcall/inspect":              "entries of the coordinator's journal; saved journals are read by coordinator/journal",
	"engines/enginetest/authority":      "for tests only",
	"engines/memory":                    "for tests and rehearsals only",
	"coordinator/sim/apiserver":         "the requests of a coordinator in a simulated world or a test",
	"coordinator/sim/database":          "what it wrote itself, in a simulated world",
	"engines/opensearch/opensearchtest": "for tests only",
	"engines/solr/solrtest":             "for tests only",
	"coordinator/kube":                  "tolerations, which it encoded itself",
	"coordinator/provision":             "the Secret that it wrote itself; what it cannot read is written anew. Certificates and keys of people are read by the standard library",
}

var decodes = regexp.MustCompile(`\b(json|yaml|proto|protojson|prototext|xml|gob|msgpack|cbor)\.(Unmarshal\w*|NewDecoder)\(|\.Unmarshal\(|\bpem\.Decode\(|\bx509\.Parse\w+\(|\bbinary\.Read\(`)

func TestEveryDecoderIsFuzzed(t *testing.T) {
	packages := map[string]bool{}
	for _, top := range []string{"agent", "cmd", "coordinator", "engines"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, filepath.Dir(path))
			if decodes.Match(source) {
				packages[filepath.ToSlash(rel)] = true
			}
			return err
		}))
	}
	require.Greater(t, len(packages), 15)
	for p := range packages {
		if fuzzed[p] == nil && inside[p] == "" {
			t.Errorf("%s decodes bytes: name its fuzz target in fuzzed, or say in inside why it needs none", p)
		}
	}
	for p := range inside {
		require.True(t, packages[p], "%s decodes nothing any more", p)
		require.Nil(t, fuzzed[p], p)
	}
	for p, targets := range fuzzed {
		there := targetsOf(t, p)
		for _, target := range targets {
			require.True(t, slices.Contains(there, target), "%s has no %s", p, target)
		}
	}
}

// targetsOf finds them as test/fuzz.sh does.
func targetsOf(t *testing.T, p string) []string {
	files, err := filepath.Glob(filepath.Join(root, p, "*_test.go"))
	require.NoError(t, err)
	var names []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^func (Fuzz[A-Za-z0-9_]+)`).FindAllSubmatch(source, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}

func TestWhatCountsAsDecoding(t *testing.T) {
	for _, source := range []string{"json.Unmarshal(b, &v)", "json.NewDecoder(r)", "yaml.UnmarshalStrict(b, v)", "(proto.UnmarshalOptions{}).Unmarshal(b, h)", "pem.Decode(b)", "x509.ParsePKCS8PrivateKey(b)"} {
		require.True(t, decodes.MatchString(source), source)
	}
	require.False(t, decodes.MatchString("json.Marshal(v); json.NewEncoder(w)"))
}
