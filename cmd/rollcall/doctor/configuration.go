package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// configuration judges the settings with which servers of MySQL and MariaDB start, by what their
// topology needs.
func configuration(f *Facts) []Finding {
	return f.eachDatabase(func(d *sqlDatabase) (out []Finding) {
		t, _ := f.known(d)
		switches := f.switches(d)
		for i := range d.Pools {
			p := &d.Pools[i]
			var found []Finding
			found = append(found, uninitialized(p)...)
			if switches {
				found = append(found, needed(p, engineOf(d, p))...)
			}
			for j := range found {
				found[j].Object = setID(p.Set)
			}
			out = append(out, found...)
		}
		if t == model.TopologySwitchable || t == model.TopologyFixedPrimary || t == model.TopologyGroupReplication || switches {
			out = append(out, serverIDs(d, switches)...)
		}
		return out
	})
}

// engineOf is what the DatabaseCluster says, or the image.
func engineOf(d *sqlDatabase, p *database.Pool) model.Engine {
	if d.cluster != nil {
		return d.cluster.Spec.Engine
	}
	return database.EngineOf(p.Container)
}

// requirement is a setting that a switchover needs.
type requirement struct {
	names []string // the first that is set counts
	// set is the setting as an option file has it, and why what happens without it.
	set, why string
}

func requirements(engine model.Engine) []requirement {
	if engine == model.MariaDB {
		return []requirement{
			{[]string{"read_only"}, "read_only=ON", "a server that starts writable would come back as a second primary, so veto holds it"},
			{[]string{"log_bin"}, "log_bin", "a replica without GTIDs cannot be given another source, and without a binary log there are none"},
			{[]string{"log_slave_updates", "log_replica_updates"}, "log_slave_updates=ON", "a replica that does not log what it receives cannot be followed by the others"},
		}
	}
	return []requirement{
		{[]string{"super_read_only", "read_only"}, "super_read_only=ON", "a server that starts writable would come back as a second primary, so veto holds it"},
		{[]string{"gtid_mode"}, "gtid_mode=ON", "a replica without GTIDs follows by position and cannot be given another source"},
		{[]string{"enforce_gtid_consistency"}, "enforce_gtid_consistency=ON", "gtid_mode needs it"},
	}
}

// needed finds settings that a switchover needs and that are missing.
func needed(p *database.Pool, engine model.Engine) (out []Finding) {
	var unseen []string
	judge := func(r requirement, state database.State, from string) {
		name := r.names[0]
		switch {
		case state == database.Off:
			out = append(out, Finding{Severity: Error, Found: fmt.Sprintf("%s is not ON (%s): %s", name, from, r.why), Fix: settingOf(p, engine, r.set)})
		case state == database.Unset && len(p.Settings.Hidden) > 0:
			unseen = append(unseen, name)
		case state == database.Unset:
			out = append(out, Finding{Severity: Error, Found: fmt.Sprintf("nothing sets %s%s: %s", name, atStart(p, name), r.why), Fix: settingOf(p, engine, r.set)})
		}
	}
	for _, r := range requirements(engine) {
		state, at := p.Settings.Switch(r.names...)
		if r.names[0] == "gtid_mode" && state == database.On {
			state, at = p.GTIDs()
		}
		judge(r, state, at.From)
	}
	if p.Follows != "" {
		out = append(out, Finding{Severity: Warning, Found: fmt.Sprintf("its servers follow %s: where that is not the name of a pod, nobody knows before there are agents which server it is, and the first rollout waits with health", p.Follows),
			Fix: "have them follow the name of the primary's pod, such as db-0.db, before the agents are added"})
	}
	host, there := p.Settings.Get("report_host")
	r := requirement{[]string{"report_host"}, "report_host=NAME.SERVICE of each pod", "nobody can be told to follow a server without it, so it is never promoted"}
	switch {
	case !there:
		judge(r, database.Unset, "")
	case !strings.Contains(host.Value, "$") && pods(p) > 1:
		out = append(out, Finding{Severity: Error, Found: fmt.Sprintf("report_host is %s for all of its servers (%s): the members know each other by it", host.Value, host.From), Fix: settingOf(p, engine, r.set)})
	}
	if len(unseen) > 0 {
		out = append(out, Finding{Severity: Info, Found: fmt.Sprintf("it cannot be seen what sets %s; not visible: %s", strings.Join(unseen, ", "), strings.Join(p.Settings.Hidden, "; ")),
			Fix: "see that its servers have what deploy/docs/mysql.md#what-each-server-must-be-like asks for"})
	}
	return out
}

func atStart(p *database.Pool, name string) string {
	if p.Role == database.Writer && strings.Contains(name, "read_only") {
		return " (" + p.RoleBy + ")"
	}
	return ""
}

// settingOf says where to set it. Images that make their accounts themselves cannot do it with
// super_read_only.
func settingOf(p *database.Pool, engine model.Engine, setting string) string {
	chart := database.ChartOf(p.Set)
	if strings.HasPrefix(setting, "super_") && (database.Official(p.Container) || chart.Flags != "") {
		setting = strings.TrimPrefix(setting, "super_")
	}
	name, value, valued := strings.Cut(setting, "=")
	option := "--" + strings.ReplaceAll(name, "_", "-")
	if valued {
		option += "=" + value
	}
	persisted := ""
	if engine == model.MySQL {
		persisted = "; what SET PERSIST alone has set cannot be seen here"
	}
	switch {
	case name == "report_host" && chart.Flags != "" && pods(p) == 1:
		return fmt.Sprintf("add --report-host=%s-0.%s, by which the others reach it, to %s in the values of chart %s", p.Set.Name, p.Set.Spec.ServiceName, chart.Flags, chart.Name)
	case name == "report_host":
		return "give each server its own, by which the others reach it: an argument --report-host=$(POD_NAME).SERVICE, with POD_NAME from metadata.name"
	case chart.Flags != "":
		return fmt.Sprintf("add %s to %s, or %s to %s, in the values of chart %s%s", option, chart.Flags, setting, chart.Configuration, chart.Name, persisted)
	case chart.Configuration != "":
		return fmt.Sprintf("add %s to %s in the values of chart %s%s", setting, chart.Configuration, chart.Name, persisted)
	}
	return "set " + setting + " in the configuration with which the servers start" + persisted
}

// uninitialized finds servers whose image cannot make them, because they refuse all writes from
// their first start.
func uninitialized(p *database.Pool) []Finding {
	state, at := p.Settings.Switch("super_read_only")
	if state != database.On || !database.Official(p.Container) {
		return nil
	}
	return one(Warning, fmt.Sprintf("super_read_only is ON (%s), and the official image cannot make accounts on an empty volume with it: a new pod does not start", at.From),
		"set read_only = ON there instead, and super_read_only by SET PERSIST once a server has its data")
}

// serverIDs finds servers that have one server_id.
func serverIDs(d *sqlDatabase, switches bool) (out []Finding) {
	fix := "give each server its own: such as an argument --server-id=1$(POD_INDEX), with POD_INDEX from metadata.labels['apps.kubernetes.io/pod-index']"
	if len(d.Pools) > 1 {
		fix += ", and another digit than 1 in each of its other StatefulSets"
	}
	seen := map[string]string{}
	for i := range d.Pools {
		p := &d.Pools[i]
		at, there := p.Settings.Get("server_id")
		add := func(s Severity, found, fix string) {
			out = append(out, Finding{Severity: s, Object: setID(p.Set), Found: found, Fix: fix})
		}
		_, err := strconv.ParseUint(at.Value, 10, 32)
		switch {
		case there && at.Value == "$RANDOM" && switches && engineOf(d, p) == model.MariaDB:
			add(Warning, fmt.Sprintf("its servers make up a server_id of three digits at each start (%s): members of MariaDB are told apart by it, and two may be equal", at.From), fix)
		case there && err == nil && pods(p) > 1:
			add(Error, fmt.Sprintf("server_id is %s for all of its servers (%s): replication between servers of one server_id does not work", at.Value, at.From), fix)
		case there && err == nil && seen[at.Value] != "":
			add(Error, fmt.Sprintf("server_id is %s (%s), as in StatefulSet %s: replication between servers of one server_id does not work", at.Value, at.From, seen[at.Value]), "give each server its own: another number here")
		case !there && len(p.Settings.Hidden) == 0 && pods(p) > 1:
			add(Warning, "nothing that can be seen sets server_id, which is 1 then for all of its servers: replication between servers of one server_id does not work", fix)
		}
		if there {
			seen[at.Value] = p.Set.Name
		}
	}
	return out
}

func pods(p *database.Pool) int32 { return replicas(p.Set) }
