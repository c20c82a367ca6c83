package opensearch

import "github.com/rollcall-dev/rollcall/engines/web"

// Options say how to reach the local OpenSearch node. The zero value is a node on
// localhost:9200 without TLS and without authentication. Answers have 32 MiB at most, some
// 50,000 shards with a replica each; see large for what else bounds one.
type Options struct {
	web.Access
}

func withDefaults(o Options) Options {
	o.Access = o.WithDefaults(9200, large.Bytes)
	return o
}
