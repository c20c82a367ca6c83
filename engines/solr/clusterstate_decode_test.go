package solr

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const smallStatus = `{"responseHeader":{"status":0},"cluster":{
 "collections":{
  "pages":{"shards":{"shard1":{"state":"active","replicas":{
    "core_node4":{"core":"pages_r4","node_name":"b:1_solr","base_url":"http://b:1/solr","state":"active","type":"PULL"},
    "core_node2":{"core":"pages_r2","node_name":"a:1_solr","base_url":"http://a:1/solr","state":"active","type":"TLOG","leader":"true",
      "property.preferredleader":"true","property.rollcall":"c/n/"}}}},"replicationFactor":"1","nrtReplicas":2,"extra":[1,{"x":null}]},
  "books":{"shards":{"shard1":{"state":"inactive","replicas":{}},"shard2":{"state":"active"}}}},
 "aliases":{"a":"books,pages"},"roles":{"overseer":["a:1_solr"]},"live_nodes":["b:1_solr","a:1_solr"]}}`

func TestDecodeClusterStatus(t *testing.T) {
	c, err := decodeClusterStatus(strings.NewReader(smallStatus))
	require.NoError(t, err)
	require.Equal(t, &clusterState{
		live: []string{"a:1_solr", "b:1_solr"},
		collections: []collection{
			{name: "books", shards: []shard{{name: "shard1", state: "inactive", replicas: []replica{}}, {name: "shard2", state: "active", replicas: []replica{}}}},
			{name: "pages", shards: []shard{{name: "shard1", state: "active", replicas: []replica{
				{name: "core_node2", core: "pages_r2", node: "a:1_solr", baseURL: "http://a:1/solr", state: "active", kind: "TLOG", leader: true, preferred: true, mark: "c/n/"},
				{name: "core_node4", core: "pages_r4", node: "b:1_solr", baseURL: "http://b:1/solr", state: "active", kind: "PULL"},
			}}}},
		},
	}, c)
}

func TestDecodeClusterStatusTypes(t *testing.T) {
	c, err := decodeClusterStatus(strings.NewReader(`{"cluster":{"live_nodes":[],"collections":{"x":{"shards":{"s":{"state":"active","replicas":
		{"r":{"node_name":"a:1_solr","leader":true,"type":null,"state":1}}}}}}}}`))
	require.NoError(t, err)
	require.Equal(t, replica{name: "r", node: "a:1_solr", leader: true, state: "1"}, c.collections[0].shards[0].replicas[0])
}

// A missing or half list must never read as an empty one.
func TestDecodeClusterStatusRefuses(t *testing.T) {
	for name, c := range map[string]struct{ in, says string }{
		"empty":               {``, "EOF"},
		"not json":            {`<html>`, "invalid character"},
		"array":               {`[]`, "must be an object"},
		"null cluster":        {`{"cluster":null}`, "must be an object"},
		"no cluster":          {`{"responseHeader":{}}`, "no live_nodes"},
		"no live nodes":       {`{"cluster":{"collections":{}}}`, "no live_nodes"},
		"no collections":      {`{"cluster":{"live_nodes":[]}}`, "no collections"},
		"live nodes twice":    {`{"cluster":{"live_nodes":["a"],"live_nodes":[],"collections":{}}}`, "live_nodes occurs twice"},
		"collections twice":   {`{"cluster":{"live_nodes":[],"collections":{},"collections":{}}}`, "collections occurs twice"},
		"collection twice":    {`{"cluster":{"live_nodes":[],"collections":{"a":{},"a":{}}}}`, `collection "a" occurs twice`},
		"live nodes no list":  {`{"cluster":{"live_nodes":"a","collections":{}}}`, "cannot unmarshal"},
		"null collections":    {`{"cluster":{"live_nodes":[],"collections":null}}`, "must be an object"},
		"no node name":        {`{"cluster":{"live_nodes":[],"collections":{"x":{"shards":{"s":{"replicas":{"r":{"state":"active"}}}}}}}}`, `replica "r": no node_name`},
		"state is an object":  {`{"cluster":{"live_nodes":[],"collections":{"x":{"shards":{"s":{"replicas":{"r":{"node_name":"a","state":{}}}}}}}}}`, `collection "x"`},
		"broken off":          {smallStatus[:len(smallStatus)-1], "EOF"},
		"broken off in lists": {smallStatus[:len(smallStatus)/2], "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decodeClusterStatus(strings.NewReader(c.in))
			require.ErrorContains(t, err, c.says)
		})
	}
}

// Every prefix of a good answer is an error.
func TestDecodeClusterStatusTruncated(t *testing.T) {
	for i := range len(smallStatus) {
		_, err := decodeClusterStatus(strings.NewReader(smallStatus[:i]))
		require.Error(t, err, "%d bytes", i)
	}
}

func FuzzDecodeClusterStatus(f *testing.F) {
	f.Add(smallStatus)
	f.Add(`{"cluster":{"live_nodes":["a"],"collections":{"x":{"shards":{"s":{"replicas":{"r":{"node_name":"a"}}}}}}}}`)
	for _, r := range recordings(f, "cluster-status") {
		f.Add(r.body)
	}
	f.Fuzz(func(t *testing.T, in string) {
		c, err := decodeClusterStatus(strings.NewReader(in))
		if err != nil {
			require.Nil(t, c)
			return
		}
		// Whatever was accepted can be judged, and gives the same answer twice.
		groups := c.groups()
		require.Equal(t, verdict(groups, c.isLive), verdict(c.groups(), c.isLive))
		for _, n := range c.nodes() {
			planHandoff(c, n.Name, "claim", nil)
		}
		again, err := decodeClusterStatus(strings.NewReader(in))
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}
