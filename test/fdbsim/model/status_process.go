package model

import "slices"

// processes is cluster.processes: those that are known to be there.
func (c *Cluster) processes() object {
	out := object{}
	for _, p := range c.Workers() {
		out[p.ProcessID()] = c.process(p)
	}
	return out
}

func (c *Cluster) process(p *Process) object {
	locality := object{}
	for _, key := range localityKeys {
		if value := p.locality(key); value != "" {
			locality[key] = value
		}
	}
	var messages list
	for _, name := range p.Messages {
		messages = append(messages, object{"name": name, "description": name})
	}
	out := object{
		"address": p.Address, "class_type": string(p.Class), "class_source": "command_line", "command_line": p.commandLine(), "version": p.Version.String(),
		"uptime_seconds": max(0, (c.Now - p.Since).Seconds()), "excluded": c.isExcluded(p), "degraded": false, "fault_domain": p.Zone, "machine_id": p.Machine,
		"run_loop_busy": 0.01, "locality": locality, "messages": messages, "roles": c.roles(p),
	}
	if c.Maintenance.Zone != "" && p.Zone == c.Maintenance.Zone {
		out["under_maintenance"] = true
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

func (c *Cluster) roles(p *Process) list {
	var out list
	if slices.ContainsFunc(c.Seats, func(s Seat) bool { return c.sitting(s) == p }) {
		out = append(out, object{"role": "coordinator"})
	}
	if s := c.serverOf(p); s != nil {
		stored := c.storedOn(s)
		out = append(out, object{
			"role": "storage", "id": roleID(s.ID), "stored_bytes": stored, "kvstore_used_bytes": stored, "kvstore_total_bytes": p.Disk,
			"kvstore_free_bytes": p.Disk - stored, "kvstore_available_bytes": p.Disk - stored,
			"data_lag": object{"seconds": 0.4, "versions": 400000}, "durability_lag": object{"seconds": 5.1, "versions": 5100000},
		})
	}
	for _, g := range c.Generations {
		for _, l := range g.Logs {
			if l.Process == p.Instance && l.Volume == p.Volume {
				out = append(out, object{"role": "log", "id": roleID(l.ID), "kvstore_used_bytes": 0, "queue_disk_used_bytes": 120})
			}
		}
	}
	if c.Recovery.Phase.accepting() {
		for _, r := range c.Recovery.Roles {
			if r.Process == p.Instance && r.Started == p.Since {
				out = append(out, object{"role": r.Name, "id": roleID(r.ID)})
			}
		}
	}
	return out
}
