package arrows

import (
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// nameless are the rooms that know engines only by the facts of their adapters, and
// named is the one file with the names.
var (
	nameless = []string{"coordinator/model", "coordinator/policy", "coordinator/view", "coordinator/status"}
	named    = "coordinator/model/engine.go"
	// topologyName is of a topology that has the name of an engine.
	topologyName = regexp.MustCompile(`^(Topology|Topology_TOPOLOGY_)(Galera|GALERA)$|^"Galera"$`)
	engineName   = regexp.MustCompile(`(?i)solr|opensearch|mysql|mariadb|foundationdb|galera|zookeeper`)
)

// TestDecidingNamesNoEngine checks that what an engine is like is told by its adapter, so that a
// new one needs no change where snapshots are made, decided on and shown. Comments and tests may
// name them.
func TestDecidingNamesNoEngine(t *testing.T) {
	files := 0
	for _, room := range nameless {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, room), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			rel, err := filepath.Rel(root, path)
			require.NoError(t, err)
			if filepath.ToSlash(filepath.Dir(rel)) == testPages {
				return nil
			}
			source, err := os.ReadFile(path)
			require.NoError(t, err)
			names := enginesIn(t, rel, source)
			if filepath.ToSlash(rel) == named {
				require.NotEmpty(t, names, "the names are there, and have not moved")
				return nil
			}
			require.Empty(t, names, rel)
			files++
			return nil
		}))
	}
	require.Greater(t, files, 100)
	require.Equal(t, []string{"MySQL", `"Solr"`}, enginesIn(t, "a.go", []byte("package a\n// OpenSearch\nvar _ = MySQL + \"Solr\"\n")))
}

// enginesIn are the words of a source that name an engine, but for its comments.
func enginesIn(t *testing.T, name string, source []byte) []string {
	t.Helper()
	fset := token.NewFileSet()
	_, err := parser.ParseFile(fset, name, source, parser.PackageClauseOnly)
	require.NoError(t, err)
	var s scanner.Scanner
	s.Init(fset.AddFile(name, fset.Base(), len(source)), source, nil, 0)
	var found []string
	for {
		_, kind, text := s.Scan()
		if kind == token.EOF {
			return found
		}
		if engineName.MatchString(text) && !topologyName.MatchString(text) {
			found = append(found, text)
		}
	}
}
