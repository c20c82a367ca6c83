package model

// What is in this file are figures that the simulation has no use for: they are there because the real document has them, and
// are always the same.

// memoryLimit of a process.
const memoryLimit = 2 << 30

func rate() object { return object{"hz": 0.1} }

func counter() object { return object{"counter": 100, "hz": 0.1, "roughness": 0.5} }

func lag(seconds int) object { return object{"seconds": seconds, "versions": seconds * 1000000} }

func statistics() object {
	return object{
		"count": 10, "max": 0.002, "mean": 0.001, "median": 0.001, "min": 0.0005, "p25": 0.0008, "p90": 0.0015, "p95": 0.0018, "p99": 0.0019, "p99.9": 0.002,
	}
}

func disk(bytes int64) object {
	return object{
		"busy": 0.07, "free_bytes": bytes / 2, "total_bytes": bytes,
		"reads":  object{"counter": 100, "hz": 0.1, "sectors": 8},
		"writes": object{"counter": 100, "hz": 0.1, "sectors": 8},
	}
}

func processMemory() object {
	return object{
		"available_bytes": int64(memoryLimit), "limit_bytes": int64(memoryLimit), "rss_bytes": 50 << 20, "unused_allocated_memory": 0, "used_bytes": 300 << 20,
	}
}

func network() object {
	return object{
		"connection_errors": rate(), "connections_closed": rate(), "connections_established": rate(), "current_connections": 8,
		"megabits_received": rate(), "megabits_sent": rate(), "tls_policy_failures": rate(),
	}
}

func machineMemory() object {
	return object{"committed_bytes": int64(4 << 30), "free_bytes": int64(20 << 30), "total_bytes": int64(24 << 30)}
}

func machineNetwork() object {
	return object{"megabits_received": rate(), "megabits_sent": rate(), "tcp_segments_retransmitted": rate()}
}

func storageRole(disk, stored int64) object {
	out := object{
		"role": "storage", "stored_bytes": stored, "kvstore_used_bytes": stored, "kvstore_total_bytes": disk, "kvstore_free_bytes": disk - stored,
		"kvstore_available_bytes": disk - stored, "kvstore_inline_keys": 0, "kvstore_total_nodes": 0, "kvstore_total_size": 0,
		"data_lag": lag(0), "durability_lag": lag(5), "data_version": 149158306, "durable_version": 144158306, "local_rate": 100, "query_queue_max": 3,
	}
	for _, key := range []string{
		"bytes_queried", "durable_bytes", "fetched_versions", "fetches_from_logs", "finished_queries", "input_bytes", "keys_queried", "low_priority_queries",
		"mutation_bytes", "mutations", "total_queries",
	} {
		out[key] = counter()
	}
	return out
}

func logRole(disk int64) object {
	return object{
		"role": "log", "data_version": 149158306, "durable_bytes": counter(), "input_bytes": counter(),
		"kvstore_available_bytes": disk, "kvstore_free_bytes": disk, "kvstore_total_bytes": disk, "kvstore_used_bytes": 0,
		"queue_disk_available_bytes": disk, "queue_disk_free_bytes": disk, "queue_disk_total_bytes": disk, "queue_disk_used_bytes": 120,
	}
}

func latencyProbe() object {
	out := object{}
	for _, key := range []string{
		"batch_priority_transaction_start_seconds", "commit_seconds", "immediate_priority_transaction_start_seconds", "read_seconds",
		"transaction_start_seconds",
	} {
		out[key] = 0.002
	}
	return out
}

func qos() object {
	limited := object{"name": "workload", "description": "The database is not being saturated by the workload.", "reason_id": 2}
	return object{
		"batch_performance_limited_by": limited, "performance_limited_by": limited, "batch_released_transactions_per_second": 0.5,
		"batch_transactions_per_second_limit": 100000, "released_transactions_per_second": 5.5, "transactions_per_second_limit": 1000000,
		"limiting_data_lag_storage_server": lag(0), "limiting_durability_lag_storage_server": lag(5), "limiting_queue_bytes_storage_server": 2048,
		"worst_data_lag_storage_server": lag(0), "worst_durability_lag_storage_server": lag(5),
		"worst_queue_bytes_log_server": 120, "worst_queue_bytes_storage_server": 2048,
		"throttled_tags": object{
			"auto":   object{"busy_read": 0, "busy_write": 0, "count": 0, "recommended_only": 0},
			"manual": object{"count": 0},
		},
	}
}

func workload() object {
	operations, transactions := object{}, object{}
	for _, key := range []string{"location_requests", "low_priority_reads", "memory_errors", "read_requests", "reads", "writes"} {
		operations[key] = counter()
	}
	for _, key := range []string{
		"committed", "conflicted", "rejected_for_queued_too_long", "started", "started_batch_priority", "started_default_priority",
		"started_immediate_priority",
	} {
		transactions[key] = counter()
	}
	return object{
		"bytes": object{"read": counter(), "written": counter()}, "keys": object{"read": counter()},
		"operations": operations, "transactions": transactions,
	}
}

// clients are fdbcli alone.
func (c *Cluster) clients() object {
	self := list{object{"address": "127.0.0.1:59140", "log_group": "default"}}
	return object{
		"count": 1,
		"supported_versions": list{object{
			"client_version": c.Version.String(), "connected_clients": self, "count": 1, "max_protocol_clients": self, "max_protocol_count": 1,
			"protocol_version": c.protocol(), "source_version": "0000000000000000000000000000000000000000",
		}},
	}
}
