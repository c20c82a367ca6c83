package solr

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecodeIdentity(t *testing.T) {
	id, err := decodeIdentity([]byte(`{"mode":"solrcloud","lucene":{"solr-spec-version":"9.10.0"},"node":"a:1_solr"}`))
	require.NoError(t, err)
	require.Equal(t, identity{node: "a:1_solr", version: "9.10.0"}, id)

	_, err = decodeIdentity([]byte(`{"mode":"std","lucene":{"solr-spec-version":"9.10.0"}}`))
	require.ErrorIs(t, err, ErrNotCloud)
	_, err = decodeIdentity([]byte(`{"mode":"solrcloud","lucene":{"solr-spec-version":"9.10.0"}}`))
	require.ErrorIs(t, err, ErrNotCloud, "no name of its own yet")
	_, err = decodeIdentity([]byte(`{"version":{"number":"2.19.0"}}`))
	require.ErrorContains(t, err, "not the answer of a Solr")
}

func TestDecodeOverseer(t *testing.T) {
	for in, want := range map[string]overseer{
		`{"responseHeader":{},"leader":"a:1_solr","overseer_operations":["leader",{"x":1}]}`: {node: "a:1_solr"},
		`{"responseHeader":{},"leader":"a:1_solr","overseer_collection_queue_size":2}`:       {node: "a:1_solr"},
		`{"responseHeader":{},"leader":"a:1_solr","overseer_collection_queue_size":"3"}`:     {node: "a:1_solr", working: true},
		`{"responseHeader":{"status":0}}`:                                                    {}, // a cluster that runs without one
	} {
		got, err := decodeOverseer([]byte(in))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, in := range []string{`{}`, `[]`, `{"responseHeader":{},"leader":["a"]}`, `{"responseHeader":{},"overseer_collection_queue_size":"many"}`, ``} {
		_, err := decodeOverseer([]byte(in))
		require.Error(t, err, in)
	}
}

func TestDecodeHealth(t *testing.T) {
	for in, want := range map[string]nodeHealth{
		`{"status":"OK","message":"All cores are healthy"}`:                                {connected: true, settled: true},
		`{"status":"FAILURE","num_cores_unhealthy":2,"message":"Replica(s) [x] are down"}`: {connected: true, unhealthy: 2, reason: "2 cores are not healthy"},
		`{"status":"FAILURE","num_cores_unhealthy":"1"}`:                                   {connected: true, unhealthy: 1, reason: "1 cores are not healthy"},
		`{"status":"FAILURE","num_cores_unhealthy":0,"message":"Not in live nodes"}`:       {reason: "Not in live nodes"},
		`{"status":"FAILURE","message":"Host Unavailable: Not connected to zk"}`:           {reason: "Host Unavailable: Not connected to zk"},
	} {
		got, err := decodeHealth([]byte(in))
		require.NoError(t, err)
		require.Equal(t, want, got, in)
	}
	for _, in := range []string{`{}`, `{"status":"green"}`, `{"status":{}}`, `x`} {
		_, err := decodeHealth([]byte(in))
		require.Error(t, err, in)
	}
}

func TestDecodeDataBytes(t *testing.T) {
	n, err := decodeDataBytes([]byte(`{"metrics":{"solr.core.a":{"INDEX.sizeInBytes":69},"solr.core.b":{"INDEX.sizeInBytes":"31"},"solr.jvm":{}}}`))
	require.NoError(t, err)
	require.EqualValues(t, 100, n)
	for _, in := range []string{`{"metrics":{"a":{"INDEX.sizeInBytes":-1}}}`, `{"metrics":{"a":{"INDEX.sizeInBytes":9223372036854775807},"b":{"INDEX.sizeInBytes":1}}}`, `[]`} {
		_, err := decodeDataBytes([]byte(in))
		require.Error(t, err, in)
	}
}

func TestDecodeDataText(t *testing.T) {
	n, err := decodeDataText([]byte("# TYPE " + metricIndexSize + " gauge\n" + metricIndexSize + `{core="a b"} 0.5` + "\n" +
		metricIndexSize + `{core="c"} 1.5E0` + "\nsolr_core_index_size_other{} 7\n"))
	require.NoError(t, err)
	require.EqualValues(t, 2<<20, n)
	for _, value := range []string{"-1", "NaN", "+Inf", "x", "", "1e300", "4398046511104"} {
		_, err := decodeDataText([]byte(metricIndexSize + "{} " + value))
		require.Error(t, err, value)
	}
	n, err = decodeDataText(nil)
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestDecodeTask(t *testing.T) {
	for in, want := range map[string]taskState{
		`{"status":{"state":"notfound","msg":"Did not find [x] in any tasks queue"}}`: taskAbsent,
		`{"status":{"state":"submitted"}}`:                                            taskRunning, `{"status":{"state":"running"}}`: taskRunning,
		`{"status":{"state":"completed"}}`: taskCompleted, `{"status":{"state":"failed"}}`: taskFailed,
	} {
		got, _, err := decodeTask([]byte(in))
		require.NoError(t, err)
		require.Equal(t, want, got, "%s: %s", in, got)
	}
	for _, in := range []string{`{}`, `{"status":{"state":"paused"}}`, `{"status":"x"}`} {
		state, _, err := decodeTask([]byte(in))
		require.Error(t, err, in)
		require.Equal(t, taskUnknown, state)
	}
}

func FuzzDecodeAnswers(f *testing.F) {
	for _, r := range recordings(f, "") {
		f.Add([]byte(r.body))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if id, err := decodeIdentity(in); err == nil {
			require.NotEmpty(t, id.node)
			require.NotEmpty(t, id.version)
		}
		if h, err := decodeHealth(in); err == nil {
			require.False(t, h.settled && !h.connected)
		}
		if n, err := decodeDataBytes(in); err == nil {
			require.GreaterOrEqual(t, n, int64(0))
		}
		if n, err := decodeDataText(in); err == nil {
			require.GreaterOrEqual(t, n, int64(0))
		}
		if s, _, err := decodeTask(in); err == nil {
			require.NotEqual(t, taskUnknown, s)
		}
		_, _ = decodeOverseer(in)
		bodyFailure(in)
		errorText(in)
	})
}
