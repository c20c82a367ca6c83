package model

import (
	"slices"
	"strings"
)

func (c *Cluster) configuration() object {
	var excluded list
	for _, t := range slices.Sorted(slices.Values(slices.Concat(c.Excluded, c.Failed))) {
		if Locality(t) {
			excluded = append(excluded, object{"locality": t})
		} else {
			excluded = append(excluded, object{"address": t})
		}
	}
	return object{
		"redundancy_mode": string(c.Redundancy), "usable_regions": 1, "coordinators_count": len(c.Seats), "excluded_servers": excluded,
		"storage_engine": "ssd-2", "backup_worker_enabled": 0, "blob_granules_enabled": 0, "log_spill": 2, "perpetual_storage_wiggle": 0,
		"perpetual_storage_wiggle_engine": "none", "perpetual_storage_wiggle_locality": "0", "storage_migration_type": "disabled",
		"tenant_mode": "disabled",
	}
}

func said(name string) string { return strings.ReplaceAll(name, "_", " ") }

// data is what the data distributor told last; it lags behind what is.
func (c *Cluster) data() object {
	told := c.Distributor.Told
	out := object{
		"least_operating_space_bytes_log_server": int64(20 << 30), "least_operating_space_bytes_storage_server": int64(20 << 30),
		"total_disk_used_bytes": int64(600 << 20),
	}
	switch told.State {
	case "":
		out["team_trackers"] = list{}
		return out
	case initializing:
		out["state"] = object{"name": initializing, "description": "(Re)initializing automatic data distribution"}
		return out
	}
	state := object{"healthy": told.Healthy, "name": told.State, "min_replicas_remaining": told.Replicas}
	if told.Replicas < c.Redundancy.Copies() {
		state["description"] = []string{"No replicas remain", "Only one replica remains", "Only two replicas remain"}[told.Replicas] + " of some data"
	}
	tracker := func(primary bool) object {
		return object{"primary": primary, "unhealthy_servers": told.Unhealthy, "in_flight_bytes": told.Flying, "state": state}
	}
	out["state"] = state
	if told.Off {
		out["team_trackers"] = list{tracker(true), tracker(false)}
		return out
	}
	out["team_trackers"] = list{tracker(true)}
	out["moving_data"] = object{
		"in_flight_bytes": told.Flying, "in_queue_bytes": told.Waiting, "highest_priority": told.Priority, "total_written_bytes": 0,
	}
	var bytes int64
	for _, s := range c.Shards {
		bytes += s.Bytes
	}
	out["partitions_count"], out["average_partition_size_bytes"] = len(c.Shards), bytes/int64(len(c.Shards))
	out["total_kv_size_bytes"], out["system_kv_size_bytes"] = bytes, 0
	return out
}

// dataState is what data distribution thinks of the data: it counts on a server until it counts as failed.
func (c *Cluster) dataState() (healthy bool, name string, replicas int) {
	replicas = c.Redundancy.Copies()
	moving, balancing := false, false
	for _, s := range c.Shards {
		n := 0
		for _, copy := range s.Copies {
			if server := c.Server(copy.Server); s.whole(copy) && server != nil && !c.failed(server) {
				n++
			}
		}
		replicas = min(replicas, n)
		moving = moving || len(c.standing(s)) < c.Redundancy.Copies() && s.Leaving == 0
		balancing = balancing || s.Leaving != 0
	}
	switch {
	case replicas == 0:
		return false, "missing_data", 0
	case replicas < c.Redundancy.Copies() || moving:
		return false, "healing", replicas
	case balancing:
		return true, "healthy_rebalancing", replicas
	default:
		return true, "healthy", replicas
	}
}

func (c *Cluster) priority(state string, replicas int) int {
	switch {
	case state == "missing_data":
		return 809
	case replicas < c.Redundancy.Copies() && replicas == 1:
		return 800
	case replicas < c.Redundancy.Copies():
		return 709
	case state == "healing":
		return 700
	case state == "healthy_rebalancing":
		return 122
	default:
		return 0
	}
}

func (c *Cluster) unhealthyServers() int {
	n := 0
	for _, s := range c.Servers {
		if c.failed(s) || c.serverExcluded(s) {
			n++
		}
	}
	return n
}

func (c *Cluster) logSets() list {
	var out list
	for i, g := range slices.Backward(c.Generations) {
		set := object{
			"current": i == len(c.Generations)-1, "epoch": g.Epoch, "begin_version": g.Epoch * 100000000, "log_write_anti_quorum": 0,
			"log_replication_factor": c.Redundancy.LogCopies(), "log_fault_tolerance": c.logTolerance(g), "possibly_losing_data": c.unreadable(g),
			"log_interfaces": c.logInterfaces(g),
		}
		if i < len(c.Generations)-1 {
			set["end_version"] = (g.Epoch + 1) * 100000000
		}
		out = append(out, set)
	}
	return out
}

func (c *Cluster) logTolerance(g *Generation) int {
	n := c.Redundancy.LogCopies() - 1
	for _, l := range g.Logs {
		if !c.logAlive(l) {
			n--
		}
	}
	return n
}

func (c *Cluster) logInterfaces(g *Generation) list {
	var out list
	for _, l := range g.Logs {
		i := object{"id": roleID(l.ID), "healthy": c.logAlive(l)}
		if p := c.Process(l.Process); p != nil && i["healthy"] == true {
			i["address"] = p.Address
		}
		out = append(out, i)
	}
	return out
}

// tolerance is how many zones may fail, as the cluster itself reckons.
func (c *Cluster) tolerance() (lossless, available int) {
	replicas := c.Redundancy.Copies()
	if told := c.Distributor.Told; told.State != "" && told.State != initializing {
		replicas = told.Replicas
	}
	lossless = min(c.Redundancy.Copies()-1, replicas-1, c.seatTolerance())
	if c.Maintenance.Zone != "" || c.IgnoreFailures {
		lossless = min(lossless, c.Redundancy.Copies()-2)
	}
	for _, g := range c.Generations {
		lossless = min(lossless, c.logTolerance(g))
	}
	var zones []string
	for _, p := range c.Workers() {
		if p.Up && p.Class.logs() && !c.isExcluded(p) && !slices.Contains(zones, p.Zone) {
			zones = append(zones, p.Zone)
		}
	}
	return lossless, min(lossless, len(zones)-c.Redundancy.LogCopies())
}

// seatTolerance is how many zones can go until the coordinators that are left are no majority.
func (c *Cluster) seatTolerance() int {
	zones := map[string]int{}
	reachable := 0
	for _, seat := range c.Seats {
		if c.reachable(seat) {
			zones[c.sitting(seat).Zone]++
			reachable++
		}
	}
	var counts []int
	for _, n := range zones {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	n := -1
	for reachable > len(c.Seats)/2 {
		n++
		if len(counts) == 0 {
			break
		}
		reachable -= counts[len(counts)-1]
		counts = counts[:len(counts)-1]
	}
	return n
}
