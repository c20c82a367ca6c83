package model

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// StatusJSON is what status json prints of the cluster, without the line's end.
func (c *Cluster) StatusJSON() []byte { return pretty(c.status()) }

// DownJSON is what it prints when the coordinators answer and the cluster does not.
func (c *Cluster) DownJSON() []byte { return pretty(c.down()) }

func (c *Cluster) down() object {
	return object{"client": c.clientStatus(false), "cluster": noLayers}
}

// AloneJSON is what it prints when no coordinator answers: the client knows nothing but its cluster file.
func AloneJSON(coordinators []string, now time.Time) []byte {
	return pretty(alone(coordinators, now.Unix()))
}

func alone(coordinators []string, now int64) object {
	var seats list
	for _, a := range coordinators {
		seats = append(seats, object{"address": a, "reachable": false})
	}
	return object{
		"client": object{
			"cluster_file":    clusterFile,
			"coordinators":    object{"coordinators": seats, "quorum_reachable": false},
			"database_status": object{"available": false, "healthy": false},
			"messages":        list{quorumNotReachable},
			"timestamp":       now,
		},
		"cluster": noLayers,
	}
}

var (
	quorumNotReachable = object{"name": "quorum_not_reachable", "description": "Unable to reach a quorum of coordinators."}
	clusterFile        = object{"path": "/var/dynamic-conf/fdb.cluster", "up_to_date": true}
	noLayers           = object{"layers": object{"_valid": false}}
)

func (c *Cluster) status() object {
	if !c.Resolved() {
		return alone(c.ShownSeats(), int64(c.time()))
	}
	if !c.Created() || !c.quorum() {
		return c.down()
	}
	return object{"client": c.clientStatus(c.Accepting()), "cluster": c.clusterStatus()}
}

// time is the time of day, in seconds since 1970.
func (c *Cluster) time() float64 { return c.Origin + c.Now.Seconds() }

func (c *Cluster) clientStatus(available bool) object {
	var seats, messages list
	for _, seat := range c.Seats {
		s := object{"address": c.seatAddress(seat), "reachable": c.reachable(seat)}
		if c.Version.Hostnames() && c.reachable(seat) {
			s["protocol"] = "0" + c.protocol()
		}
		seats = append(seats, s)
	}
	if !c.quorum() {
		messages = list{quorumNotReachable}
	}
	told := c.Distributor.Told
	healthy := available && (told.State == "" || told.State == initializing || told.Healthy) && len(c.messages()) == 0
	return object{
		"cluster_file":    clusterFile,
		"coordinators":    object{"coordinators": seats, "quorum_reachable": c.quorum()},
		"database_status": object{"available": available, "healthy": healthy},
		"messages":        messages, "timestamp": int64(c.time()),
	}
}

func (c *Cluster) protocol() string {
	return fmt.Sprintf("fdb00b0%d%d010000", c.Version.Major, c.Version.Minor)
}

func (c *Cluster) clusterStatus() object {
	recovery := object{
		"name": string(c.Recovery.Phase), "description": descriptions[c.Recovery.Phase], "active_generations": c.activeGenerations(),
	}
	if c.Version.RecoveryAge() {
		recovery["seconds_since_last_recovered"] = -1.0
		if c.Recovery.Phase.accepting() {
			recovery["seconds_since_last_recovered"] = (c.Now - c.Recovery.Since).Seconds()
		}
	}
	out := object{
		"generation": c.Recovery.Epoch, "recovery_state": recovery, "processes": c.processes(), "machines": c.machines(),
		"messages": c.messages(), "incompatible_connections": c.incompatible(), "bounce_impact": c.bounce(),
		"connection_string": c.Connection(), "database_available": c.Accepting(), "database_lock_state": c.lockState(),
		"protocol_version": c.protocol(), "degraded_processes": 0, "cluster_controller_timestamp": int64(c.time()),
		"clients": c.clients(), "layers": object{"_valid": c.Accepting()},
	}
	if !c.Accepting() {
		return out // nobody can read the configuration, and data distribution does not run
	}
	lossless, available := c.tolerance()
	maps.Copy(out, object{
		"configuration": c.configuration(), "full_replication": true, "data": c.data(), "logs": c.logSets(), "qos": qos(), "workload": workload(),
		"fault_tolerance": object{
			"max_zone_failures_without_losing_data": lossless, "max_zone_failures_without_losing_availability": available,
		},
		"active_primary_dc": "", "active_tss_count": 0, "datacenter_lag": lag(0), "latency_probe": latencyProbe(),
	})
	if !c.unheard() {
		out["page_cache"] = object{"log_hit_rate": 1, "storage_hit_rate": 1}
	}
	if c.Maintenance.Zone != "" {
		out["maintenance_zone"] = c.Maintenance.Zone
		out["maintenance_seconds_remaining"] = int64((c.Maintenance.Until - c.Now).Seconds())
	}
	if c.Distributor.Off {
		out["data_distribution_disabled"] = true
	}
	if c.IgnoreFailures {
		out["data_distribution_disabled_for_ss_failures"] = true
	}
	if c.Distributor.NoRebalance {
		out["data_distribution_disabled_for_rebalance"] = true
	}
	return out
}

func (c *Cluster) lockState() object {
	if c.LockUID == "" {
		return object{"locked": false}
	}
	return object{"locked": true, "lock_uid": c.LockUID}
}

func (c *Cluster) bounce() object {
	if c.Recovery.Phase == FullyRecovered {
		return object{"can_clean_bounce": true}
	}
	return object{"can_clean_bounce": false, "reason": "cluster hasn't fully recovered yet"}
}

func (c *Cluster) activeGenerations() int {
	if c.Recovery.Phase.accepting() {
		return len(c.Generations)
	}
	return len(c.Generations) + 1
}

// messages of the cluster: of what could not be asked, and what it was told to say.
func (c *Cluster) messages() list {
	var out, away, reasons list
	if !c.Accepting() {
		out = append(out, object{"name": "unreadable_configuration", "description": "Unable to read database configuration."})
	}
	silent := false
	for _, p := range c.Workers() {
		silent = silent || !c.answers(p)
		if !p.Up {
			away = append(away, object{"address": p.Address})
		}
	}
	if len(away) > 0 {
		out = append(out, object{
			"name": "unreachable_processes", "description": "The cluster has some unreachable processes.", "unreachable_processes": away,
		})
	}
	if silent {
		reasons = append(reasons, object{"description": "Cannot retrieve all process status information."})
	}
	if c.unheard() {
		reasons = append(reasons, object{"description": "Unknown cache statistics."})
	}
	if len(reasons) > 0 {
		out = append(out, object{"name": "status_incomplete", "description": "Unable to retrieve all status information.", "reasons": reasons})
	}
	for _, name := range c.Messages {
		out = append(out, object{"name": name, "description": said(name)})
	}
	return out
}

// unheard reports whether a storage server is listed whose process is gone.
func (c *Cluster) unheard() bool {
	return slices.ContainsFunc(c.Workers(), func(p *Process) bool { return !p.Up && c.serverOf(p) != nil })
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
