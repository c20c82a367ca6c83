package model

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// processes is cluster.processes: those that are known to be there.
func (c *Cluster) processes() object {
	out := object{}
	for _, p := range c.Workers() {
		if c.answers(p) {
			out[p.ProcessID()] = c.process(p)
		} else {
			out[p.ProcessID()] = c.ghost(p)
		}
	}
	return out
}

// ghost is a process that does not answer: what the cluster knows of it from before.
func (c *Cluster) ghost(p *Process) object {
	memory := object{}
	out := object{
		"address": p.Address, "class_type": string(p.Class), "class_source": "command_line", "excluded": c.matches(&Process{}, p.Address),
		"memory": memory, "messages": list{}, "roles": c.ghostRoles(p),
	}
	if p.Up {
		memory["limit_bytes"] = int64(memoryLimit)
		out["command_line"], out["version"] = p.commandLine(), p.Version.String()
	}
	return out
}

func (c *Cluster) ghostRoles(p *Process) list {
	var out list
	if c.sits(p) {
		out = append(out, object{"role": "coordinator"})
	}
	if s := c.serverOf(p); s != nil {
		out = append(out, object{"role": "storage", "id": roleID(s.ID)})
	}
	return out
}

func (c *Cluster) process(p *Process) object {
	out := object{
		"address": p.Address, "class_type": string(p.Class), "class_source": "command_line", "command_line": p.commandLine(), "version": p.Version.String(),
		"uptime_seconds": c.uptime(p), "excluded": c.isExcluded(p), "fault_domain": p.Zone, "machine_id": p.Machine,
		"run_loop_busy": 0.01, "locality": p.localities(), "messages": c.errors(p), "roles": c.roles(p),
		"cpu": object{"usage_cores": 0.01}, "disk": disk(p.Disk), "memory": processMemory(), "network": network(),
	}
	if c.Maintenance.Zone != "" && p.Zone == c.Maintenance.Zone {
		out["under_maintenance"] = true
	}
	return out
}

// uptime is told every five seconds, and of real time alone.
func (c *Cluster) uptime(p *Process) float64 {
	real := c.Now - p.Since - (c.Skipped - p.Skipped)
	return max(0, math.Floor(real.Seconds()/5)*5)
}

func (p *Process) localities() object {
	out := object{}
	for _, key := range localityKeys {
		if value := p.locality(key); value != "" {
			out[key] = value
		}
	}
	return out
}

// errors are the errors of a process: the latest, whose time has six digits, and which stays as long as the process.
func (c *Cluster) errors(p *Process) list {
	var out list
	for _, name := range p.Messages {
		at := c.Origin + p.MessagesAt.Seconds()
		told, err := strconv.ParseFloat(fmt.Sprintf("%.6g", at), 64)
		if err != nil {
			panic(err)
		}
		when := time.Unix(int64(told), 0).UTC()
		out = append(out, object{
			"name": name, "type": "DiskError", "time": told, "description": "DiskError: " + name + " at " + when.Format(time.ANSIC),
			"raw_log_message": fmt.Sprintf(`"Severity"="40", "Time"="%.6f", "Type"="DiskError", "Error"="%s"`, at, name),
		})
	}
	return out
}

// machines are those of the processes that answer.
func (c *Cluster) machines() object {
	out := object{}
	for _, p := range c.Workers() {
		if !c.answers(p) {
			continue
		}
		if m, there := out[p.Machine].(object); there {
			m["contributing_workers"] = m["contributing_workers"].(int) + 1
			continue
		}
		ip, _, _ := strings.Cut(p.Address, ":")
		out[p.Machine] = object{
			"address": ip, "contributing_workers": 1, "excluded": c.isExcluded(p), "locality": p.localities(), "machine_id": p.Machine,
			"cpu": object{"logical_core_utilization": 0.1}, "memory": machineMemory(), "network": machineNetwork(),
		}
	}
	return out
}

func (p *Process) commandLine() string {
	if p.Command != "" {
		return p.Command
	}
	line := "fdbserver --locality_instance_id=" + p.Instance + " --locality_zoneid=" + p.Zone
	if p.Hall != "" {
		line += " --locality_data_hall=" + p.Hall
	}
	return line
}

// sits reports whether a process is a coordinator.
func (c *Cluster) sits(p *Process) bool {
	return slices.ContainsFunc(c.Seats, func(s Seat) bool { return c.sitting(s) == p })
}

// latencyAfter is for how long a role must have been there to tell of its latency.
const latencyAfter = 62 * time.Second

func (c *Cluster) roles(p *Process) list {
	var out list
	if c.sits(p) {
		out = append(out, object{"role": "coordinator"})
	}
	if s := c.serverOf(p); s != nil {
		role := storageRole(p.Disk, c.storedOn(s))
		role["id"] = roleID(s.ID)
		role["storage_metadata"] = object{
			"created_time_datetime":  time.Unix(int64(c.Origin+s.Begun.Seconds()), 0).UTC().Format("2006-01-02 15:04:05.000 +0000"),
			"created_time_timestamp": int64(c.Origin + s.Begun.Seconds()),
		}
		if c.Now-max(s.Begun, p.Since) >= latencyAfter {
			role["read_latency_statistics"] = statistics()
		}
		out = append(out, role)
	}
	for _, g := range c.Generations {
		for _, l := range g.Logs {
			if l.Process == p.Instance && l.Volume == p.Volume {
				role := logRole(p.Disk)
				role["id"] = roleID(l.ID)
				out = append(out, role)
			}
		}
	}
	if !c.Recovery.Phase.accepting() {
		return out
	}
	for _, r := range c.Recovery.Roles {
		if r.Process != p.Instance || r.Started != p.Since {
			continue
		}
		role := object{"role": r.Name, "id": roleID(r.ID)}
		if c.Now-c.Recovery.Since+c.Pace.Recover >= latencyAfter {
			addLatency(role, r.Name)
		}
		out = append(out, role)
	}
	return out
}

func addLatency(role object, name string) {
	switch name {
	case "commit_proxy", "proxy":
		role["commit_latency_statistics"], role["commit_batching_window_size"] = statistics(), statistics()
	case "grv_proxy":
		role["grv_latency_statistics"] = object{"default": statistics(), "batch": statistics()}
	}
}
