package foundationdb

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// statusLimits are of a document of 3,000 processes with 300 counters each. Hardly
// anything of it is kept, so more of it bounds what is kept.
var statusLimits = web.Limits{Bytes: 64 << 20, Depth: 64, Objects: 1 << 20, Values: 1 << 22, Text: 256 << 10}

const (
	// maxPiece is how much of a document is decoded at once: a process is about 25 KiB.
	maxPiece = 1 << 20
	// maxProcesses bounds the processes. FoundationDB is tested with 500.
	maxProcesses = 4096
	// maxRoles bounds the roles of a process, and its messages.
	maxRoles = 64
)

// maxBefore is how much fdbcli may print before the document: warnings.
const maxBefore = 16 << 10

// decodeStatus reads a status document as it comes: of thousands of processes one
// at a time is in memory. What is not there stays unknown; what is of another type
// than it should be is an error, and so is a document that breaks off.
func decodeStatus(r io.Reader) (*status, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	for range maxBefore {
		b, err := in.ReadByte()
		if err != nil {
			return nil, brokenOff(err)
		}
		if b == '{' {
			_ = in.UnreadByte()
			s := &status{}
			d := &decoder{web.NewDecoder(in)}
			if err := d.document(s); err != nil {
				return nil, err
			}
			s.sort()
			s.judgeProblems()
			return s, nil
		}
	}
	return nil, fmt.Errorf("%w: no document in the first %d bytes", ErrStatus, maxBefore)
}

func brokenOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it breaks off", ErrStatus)
	}
	return err
}

// decoder reads objects field by field.
type decoder struct{ *web.Decoder }

// fields reads an object, or null, which is as one that is not there. Of each known field
// there is what to decode it into, or a func that reads it; what is not asked for is read over.
func (d *decoder) fields(what string, known map[string]any) error {
	_, err := d.Object(func(name string) error {
		into, ok := known[name]
		if !ok {
			into = known["*"]
		}
		switch into := into.(type) {
		case nil:
			return wrap(what+"."+name, d.Skip())
		case func() error:
			return into()
		default:
			return d.into(what+"."+name, into)
		}
	})
	if errors.Is(err, web.ErrNotObject) {
		return fmt.Errorf("%w: %s: %w", ErrStatus, what, web.ErrNotObject)
	}
	return wrap(what, err)
}

func (d *decoder) into(what string, value any) error { return wrap(what, d.Value(maxPiece, value)) }

// wrap adds the name of the wrong field to an error. A reader's own error, such as too many bytes,
// stays what it is.
func wrap(what string, err error) error {
	if err == nil || errors.Is(err, ErrStatus) {
		return err
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	what = engines.OneLine(what)
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("%w: %s: not JSON", ErrStatus, what)
	case errors.As(err, &kind):
		return fmt.Errorf("%w: %s: unexpected JSON %s", ErrStatus, what, kind.Value)
	}
	return brokenOff(err)
}

func (d *decoder) document(s *status) error {
	client, cluster := false, false
	err := d.fields("status", map[string]any{
		"client":  func() error { client = true; return d.client(s) },
		"cluster": func() error { cluster = true; return d.cluster(s) },
	})
	if err != nil {
		return err
	}
	if !client || !cluster {
		return fmt.Errorf("%w: it has no client or no cluster", ErrStatus)
	}
	return nil
}

// messageJSON is a message of the database, of its client or of a process.
type messageJSON struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Raw         string `json:"raw_log_message"`
}

// said is the message, with at most so much of its description as anybody would read.
func (m messageJSON) said() message {
	return message{m.Name, m.Description[:min(len(m.Description), maxDescription)]}
}

const maxDescription = 500

func allSaid(list []messageJSON) []message {
	var out []message
	for _, m := range list {
		out = append(out, m.said())
	}
	return out
}

func (d *decoder) client(s *status) error {
	var database struct {
		Available *bool `json:"available"`
	}
	var quorum struct {
		Reachable    *bool `json:"quorum_reachable"`
		Coordinators []struct {
			Address   string `json:"address"`
			Reachable *bool  `json:"reachable"`
		} `json:"coordinators"`
	}
	var messages []messageJSON
	if err := d.fields("client", map[string]any{"database_status": &database, "coordinators": &quorum, "messages": &messages}); err != nil {
		return err
	}
	s.available, s.quorumReachable, s.clientMessages = database.Available, quorum.Reachable, allSaid(messages)
	for _, c := range quorum.Coordinators {
		s.coordinators = append(s.coordinators, coordinator{c.Address, c.Reachable})
	}
	return nil
}

type recoveryJSON struct {
	Name        string   `json:"name"`
	Generations *int     `json:"active_generations"`
	Age         *float64 `json:"seconds_since_last_recovered"`
}

type configurationJSON struct {
	Redundancy string `json:"redundancy_mode"`
	Regions    int    `json:"usable_regions"`
	Excluded   []struct {
		Address  string `json:"address"`
		Locality string `json:"locality"`
	} `json:"excluded_servers"`
}

type dataStateJSON struct {
	Name     string `json:"name"`
	Replicas *int   `json:"min_replicas_remaining"`
}

type dataJSON struct {
	State    dataStateJSON `json:"state"`
	Trackers []struct {
		Primary *bool         `json:"primary"`
		State   dataStateJSON `json:"state"`
	} `json:"team_trackers"`
}

type logSetJSON struct {
	Interfaces []struct {
		ID      string `json:"id"`
		Healthy *bool  `json:"healthy"`
	} `json:"log_interfaces"`
	Current            *bool `json:"current"`
	Losing             bool  `json:"possibly_losing_data"`
	Tolerance          *int  `json:"log_fault_tolerance"`
	Factor             *int  `json:"log_replication_factor"`
	Anti               int   `json:"log_write_anti_quorum"`
	RemoteTolerance    *int  `json:"remote_log_fault_tolerance"`
	RemoteFactor       *int  `json:"remote_log_replication_factor"`
	SatelliteTolerance *int  `json:"satellite_log_fault_tolerance"`
	SatelliteFactor    *int  `json:"satellite_log_replication_factor"`
	SatelliteAnti      int   `json:"satellite_log_write_anti_quorum"`
}

func (l logSetJSON) set() logSet {
	out := logSet{
		current: l.Current, losing: l.Losing,
		local:     logTolerance{l.Tolerance, l.Factor, l.Anti},
		remote:    logTolerance{l.RemoteTolerance, l.RemoteFactor, 0},
		satellite: logTolerance{l.SatelliteTolerance, l.SatelliteFactor, l.SatelliteAnti},
	}
	for _, i := range l.Interfaces {
		if i.Healthy != nil && !*i.Healthy && i.ID != "" {
			out.dead = append(out.dead, i.ID)
		}
	}
	return out
}

func (d *decoder) cluster(s *status) error {
	var recovery recoveryJSON
	var configuration configurationJSON
	var data dataJSON
	var logs []logSetJSON
	var messages []messageJSON
	var lock struct {
		Locked bool   `json:"locked"`
		UID    string `json:"lock_uid"`
	}
	var tolerated struct {
		Data         *int `json:"max_zone_failures_without_losing_data"`
		Availability *int `json:"max_zone_failures_without_losing_availability"`
	}
	var qos struct {
		LimitedBy messageJSON `json:"performance_limited_by"`
	}
	err := d.fields("cluster", map[string]any{
		"cluster_controller_timestamp":               &s.clock,
		"data_distribution_disabled":                 &s.disabled.all,
		"data_distribution_disabled_for_ss_failures": &s.disabled.failures,
		"database_lock_state":                        &lock,
		"fault_tolerance":                            &tolerated,
		"qos":                                        &qos,
		"connection_string":                          &s.connection,
		"generation":                                 &s.generation,
		"active_primary_dc":                          &s.primaryDC,
		"maintenance_zone":                           &s.maintenance,
		"maintenance_seconds_remaining":              &s.remaining,
		"configuration":                              &configuration,
		"recovery_state":                             &recovery,
		"data":                                       &data,
		"logs":                                       &logs,
		"messages":                                   &messages,
		"processes": func() error {
			return d.fields("cluster.processes", map[string]any{"*": func() error { return d.process(s) }})
		},
	})
	if err != nil {
		return err
	}
	s.messages, s.limitedBy = allSaid(messages), qos.LimitedBy.said()
	s.locked, s.lockedBy = lock.Locked, lock.UID
	s.tolerance = tolerance{tolerated.Data, tolerated.Availability}
	s.recovery, s.generations = recovery.Name, recovery.Generations
	if recovery.Age != nil && *recovery.Age >= 0 { // -1: unknown
		s.recoveredAge = recovery.Age
	}
	s.redundancy, s.regions = configuration.Redundancy, configuration.Regions
	for _, e := range configuration.Excluded {
		switch {
		case e.Locality != "":
			s.excluded = append(s.excluded, localityTarget(e.Locality))
		case e.Address != "":
			s.excluded = append(s.excluded, e.Address)
		}
	}
	s.dataState = data.State.Name
	for _, t := range data.Trackers {
		s.trackers = append(s.trackers, tracker{t.Primary, t.State.Replicas})
	}
	for _, l := range logs {
		s.logs = append(s.logs, l.set())
	}
	return nil
}

type processJSON struct {
	Address  string        `json:"address"`
	Class    string        `json:"class_type"`
	Version  string        `json:"version"`
	Uptime   *float64      `json:"uptime_seconds"`
	Excluded *bool         `json:"excluded"`
	Messages []messageJSON `json:"messages"`
	Locality struct {
		Instance string `json:"instance_id"`
		Zone     string `json:"zoneid"`
		DC       string `json:"dcid"`
		Hall     string `json:"data_hall"`
		DNS      string `json:"dns_name"`
	} `json:"locality"`
	Roles *[]struct {
		Role   string   `json:"role"`
		ID     string   `json:"id"`
		Stored *float64 `json:"stored_bytes"`
		Lag    struct {
			Seconds float64 `json:"seconds"`
		} `json:"data_lag"`
	} `json:"roles"`
}

// tooMuch returns which limit a process exceeds. others is the number of processes before it.
func (p *processJSON) tooMuch(others int) string {
	roles := 0
	if p.Roles != nil {
		roles = len(*p.Roles)
	}
	if others >= maxProcesses {
		return fmt.Sprintf("more than %d processes", maxProcesses)
	}
	if roles > maxRoles || len(p.Messages) > maxRoles {
		return fmt.Sprintf("a process with more than %d roles or messages", maxRoles)
	}
	texts := []string{p.Address, p.Class, p.Version, p.Locality.Instance, p.Locality.Zone, p.Locality.DC, p.Locality.Hall, p.Locality.DNS}
	for _, m := range p.Messages {
		texts = append(texts, m.Name)
	}
	for i := range roles {
		texts = append(texts, (*p.Roles)[i].Role, (*p.Roles)[i].ID)
	}
	for _, t := range texts {
		if len(t) > web.MaxName {
			return fmt.Sprintf("a process with a name of %d bytes", len(t))
		}
	}
	return ""
}

func (d *decoder) process(s *status) error {
	var v processJSON
	if err := d.into("cluster.processes", &v); err != nil {
		return err
	}
	s.entries++
	if problem := v.tooMuch(s.entries - 1); problem != "" {
		engines.CountTooLarge()
		return fmt.Errorf("%w: %s", ErrTooMuch, problem)
	}
	p := process{
		address: v.Address, instance: v.Locality.Instance, zone: v.Locality.Zone, hall: v.Locality.Hall, dc: v.Locality.DC, dns: v.Locality.DNS,
		class: v.Class, version: v.Version, uptime: v.Uptime, excluded: v.Excluded, rolesKnown: v.Roles != nil,
	}
	if p.ghost() {
		return nil
	}
	for _, m := range v.Messages {
		p.problems = append(p.problems, problem{m.said(), loggedAt(m.Raw)})
	}
	if v.Roles != nil {
		for _, r := range *v.Roles {
			p.roles = append(p.roles, r.Role)
			p.lag = max(p.lag, r.Lag.Seconds)
			if r.Stored != nil {
				p.stored += int64(*r.Stored)
			}
			switch r.Role {
			case "storage":
				p.ids = append(p.ids, roleID{r.Role, r.ID, r.Stored != nil})
			case "log":
				p.ids = append(p.ids, roleID{r.Role, r.ID, true})
			}
		}
	}
	s.processes = append(s.processes, p)
	return nil
}

// ghost reports whether this is an entry of a process that has just ended, or that has not said yet
// who it is: it is listed for a moment by its address alone. It is no process of any pod.
func (p *process) ghost() bool {
	return p.instance == "" && p.zone == "" && p.dc == "" && p.hall == "" && p.uptime == nil
}
