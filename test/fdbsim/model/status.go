package model

import (
	"fmt"
	"slices"
	"strings"
)

// StatusJSON is what status json prints of the cluster, without the line's end.
func (c *Cluster) StatusJSON() []byte { return pretty(c.status()) }

// DownJSON is what it prints when the coordinators answer and the cluster does not.
func (c *Cluster) DownJSON() []byte {
	return pretty(object{"client": c.clientStatus(false), "cluster": object{}})
}

// AloneJSON is what it prints when no coordinator answers: the client knows nothing but its cluster file.
func AloneJSON(coordinators []string) []byte {
	var seats list
	for _, a := range coordinators {
		seats = append(seats, object{"address": a, "reachable": false})
	}
	return pretty(object{
		"client": object{
			"coordinators":    object{"coordinators": seats, "quorum_reachable": false},
			"database_status": object{"available": false, "healthy": false},
			"messages":        list{quorumNotReachable},
		},
		"cluster": object{"layers": object{"_valid": false}},
	})
}

var quorumNotReachable = object{"name": "quorum_not_reachable", "description": "Unable to reach a quorum of coordinators."}

func (c *Cluster) status() object {
	if !c.Created() || !c.quorum() {
		return object{"client": c.clientStatus(false), "cluster": object{}}
	}
	return object{"client": c.clientStatus(c.Accepting()), "cluster": c.clusterStatus()}
}

func (c *Cluster) clientStatus(available bool) object {
	var seats, messages list
	for _, seat := range c.Seats {
		s := object{"address": c.seatAddress(seat), "reachable": c.reachable(seat)}
		if c.Version.Hostnames() {
			s["protocol"] = fmt.Sprintf("0fdb00b0%d%d010000", c.Version.Major, c.Version.Minor)
		}
		seats = append(seats, s)
	}
	if !c.quorum() {
		messages = list{quorumNotReachable}
	}
	healthy, _, _ := c.dataState()
	return object{
		"cluster_file":    object{"path": "/var/fdb/fdb.cluster", "up_to_date": true},
		"coordinators":    object{"coordinators": seats, "quorum_reachable": c.quorum()},
		"database_status": object{"available": available, "healthy": available && healthy},
		"messages":        messages,
	}
}

// seatAddress is an address, with a mark when it comes from a name.
func (c *Cluster) seatAddress(seat Seat) string {
	if p := c.sitting(seat); p != nil && seat.Address != p.Address {
		return p.Address + "(fromHostname)"
	}
	return seat.Address
}

func (c *Cluster) clusterStatus() object {
	flying, waiting := c.Moving()
	recovery := object{
		"name": string(c.Recovery.Phase), "description": strings.ReplaceAll(string(c.Recovery.Phase), "_", " ") + ".",
		"active_generations": c.activeGenerations(),
	}
	if c.Version.RecoveryAge() {
		recovery["seconds_since_last_recovered"] = -1.0
		if c.Recovery.Phase.accepting() {
			recovery["seconds_since_last_recovered"] = (c.Now - c.Recovery.Since).Seconds()
		}
	}
	out := object{
		"generation": c.Recovery.Epoch, "recovery_state": recovery, "processes": c.processes(),
		"messages": c.messages(), "incompatible_connections": c.incompatible(),
		"connection_string": c.Connection(), "database_available": c.Accepting(), "database_lock_state": object{"locked": false},
		"bounce_impact":      object{"can_clean_bounce": c.Recovery.Phase.accepting()},
		"protocol_version":   fmt.Sprintf("fdb00b0%d%d010000", c.Version.Major, c.Version.Minor),
		"degraded_processes": 0,
	}
	if !c.Accepting() {
		return out // nobody can read the configuration, and data distribution does not run
	}
	healthy, name, replicas := c.dataState()
	state := object{"healthy": healthy, "name": name, "min_replicas_remaining": replicas}
	lossless, available := c.tolerance()
	out["configuration"] = c.configuration()
	out["full_replication"] = replicas >= c.Redundancy.Copies()
	out["data"] = object{
		"state": state,
		"moving_data": object{
			"in_flight_bytes": flying, "in_queue_bytes": waiting, "highest_priority": c.priority(name, replicas), "total_written_bytes": 0,
		},
		"team_trackers": list{object{"primary": true, "unhealthy_servers": c.unhealthyServers(), "in_flight_bytes": flying, "state": state}},
	}
	out["logs"] = c.logSets()
	out["fault_tolerance"] = object{
		"max_zone_failures_without_losing_data": lossless, "max_zone_failures_without_losing_availability": available,
	}
	out["qos"] = object{
		"worst_data_lag_storage_server":       object{"seconds": 0.4, "versions": 400000},
		"worst_durability_lag_storage_server": object{"seconds": 5.1, "versions": 5100000},
		"worst_queue_bytes_log_server":        120, "worst_queue_bytes_storage_server": 2048,
	}
	if c.Maintenance.Zone != "" {
		out["maintenance_zone"] = c.Maintenance.Zone
		out["maintenance_seconds_remaining"] = (c.Maintenance.Until - c.Now).Seconds()
	}
	return out
}

func (c *Cluster) activeGenerations() int {
	if c.Recovery.Phase.accepting() {
		return len(c.Generations)
	}
	return len(c.Generations) + 1
}

func (c *Cluster) messages() list {
	var out list
	if !c.Accepting() {
		out = append(out, object{"name": "unreadable_configuration", "description": "Unable to read database configuration."})
	}
	for _, name := range c.Messages {
		out = append(out, object{"name": name, "description": strings.ReplaceAll(name, "_", " ")})
	}
	return out
}

func (c *Cluster) incompatible() list {
	var out list
	for _, p := range c.Processes {
		if p.Up && !p.Version.SameLine(c.Version) {
			out = append(out, p.Address)
		}
	}
	return out
}

func (c *Cluster) configuration() object {
	var excluded list
	for _, targets := range [][]string{c.Excluded, c.Failed} {
		for _, t := range targets {
			if Locality(t) {
				excluded = append(excluded, object{"locality": strings.TrimPrefix(t, localityPrefix)})
			} else {
				excluded = append(excluded, object{"address": t})
			}
		}
	}
	return object{
		"redundancy_mode": string(c.Redundancy), "usable_regions": 1, "coordinators_count": len(c.Seats), "excluded_servers": excluded,
		"logs": c.Logs, "storage_engine": "ssd-2",
	}
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
		return 999
	case replicas < c.Redundancy.Copies():
		return max(700, 1000-100*replicas)
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
		out = append(out, object{
			"current": i == len(c.Generations)-1, "epoch": g.Epoch, "begin_version": g.Epoch * 100000000,
			"log_replication_factor": c.Redundancy.LogCopies(), "log_fault_tolerance": c.logTolerance(g), "possibly_losing_data": c.unreadable(g),
			"remote_log_fault_tolerance": 0, "remote_log_replication_factor": 0,
			"satellite_log_fault_tolerance": 0, "satellite_log_replication_factor": 0, "log_interfaces": c.logInterfaces(g),
		})
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
	_, _, replicas := c.dataState()
	lossless = min(c.Redundancy.Copies()-1, replicas-1, c.seatTolerance())
	if c.Maintenance.Zone != "" {
		lossless = min(lossless, c.Redundancy.Copies()-2)
	}
	for _, g := range c.Generations {
		lossless = min(lossless, c.logTolerance(g))
	}
	var zones []string
	for _, p := range c.Workers() {
		if p.Class.logs() && !c.isExcluded(p) && !slices.Contains(zones, p.Zone) {
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
