package config

import (
	"bytes"
	"testing"
)

func FuzzFiles(f *testing.F) {
	f.Add([]byte(`{"clusterUID":"u","engine":"Solr","connection":{"port":8983}}`))
	f.Add(bytes.Repeat([]byte{1}, 2*GossipKeyBytes))
	f.Add([]byte(`{"clusterUID":"u","engine":"MySQL","connection":{"port":65536},"drain":{"timeoutSeconds":-1}}`))
	f.Add(bytes.Repeat([]byte(`{"connection":`), 20_000))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := ParseFile(data)
		if err == nil && (file.ClusterUID == "" || file.Engine == "" || file.Connection.Port < 0 || file.Connection.Port > 65535 || file.Drain.TimeoutSeconds < 0) {
			t.Fatalf("%+v", file)
		}
		keys, err := ParseGossipKeys(data)
		if err != nil {
			return
		}
		if len(keys) > MaxGossipKeys || !bytes.Equal(bytes.Join(keys, nil), data) {
			t.Fatalf("%x", keys)
		}
		for _, k := range keys {
			if len(k) != GossipKeyBytes {
				t.Fatalf("%x", k)
			}
		}
	})
}
