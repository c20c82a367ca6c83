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
	// maxPiece of a document is decoded at once: a process is some 25 KiB.
	maxPiece = 1 << 20
	// maxProcesses: FoundationDB is tried with 500.
	maxProcesses = 4096
	// maxRoles of a process, and its messages.
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

// fields reads an object, or null, which is as one that is not there. What is
// not asked for is read over.
func (d *decoder) fields(what string, known map[string]func() error) error {
	_, err := d.Object(func(name string) error {
		read, ok := known[name]
		if !ok {
			read = known["*"]
		}
		if read == nil {
			return wrap(what+"."+name, d.Skip())
		}
		return read()
	})
	if errors.Is(err, web.ErrNotObject) {
		return fmt.Errorf("%w: %s: %w", ErrStatus, what, web.ErrNotObject)
	}
	return wrap(what, err)
}

func (d *decoder) into(what string, value any) error { return wrap(what, d.Value(maxPiece, value)) }

// wrap tells which field is wrong. A reader's own error, such as too many bytes,
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
		return fmt.Errorf("%w: %s: want %s", ErrStatus, what, kind.Type)
	}
	return brokenOff(err)
}

func (d *decoder) document(s *status) error {
	client, cluster := false, false
	err := d.fields("status", map[string]func() error{
		"client":  func() error { client = true; return d.client(s) },
		"cluster": func() error { cluster = true; return d.cluster(s) },
	})
	if err != nil {
		return err
	}
	if !client || !cluster {
		return fmt.Errorf("%w: want client and cluster in it", ErrStatus)
	}
	return nil
}

// named is a message.
type named struct {
	Name string `json:"name"`
}

func names(list []named) []string {
	var out []string
	for _, m := range list {
		out = append(out, m.Name)
	}
	return out
}

func (d *decoder) client(s *status) error {
	return d.fields("client", map[string]func() error{
		"database_status": func() error {
			var v struct {
				Available *bool `json:"available"`
			}
			err := d.into("client.database_status", &v)
			s.available = v.Available
			return err
		},
		"coordinators": func() error {
			var v struct {
				QuorumReachable *bool `json:"quorum_reachable"`
				Coordinators    []struct {
					Address   string `json:"address"`
					Reachable *bool  `json:"reachable"`
				} `json:"coordinators"`
			}
			if err := d.into("client.coordinators", &v); err != nil {
				return err
			}
			s.quorumReachable = v.QuorumReachable
			for _, c := range v.Coordinators {
				s.coordinators = append(s.coordinators, coordinator{c.Address, c.Reachable})
			}
			return nil
		},
		"messages": func() error {
			var v []named
			err := d.into("client.messages", &v)
			s.clientMessages = names(v)
			return err
		},
	})
}

func (d *decoder) cluster(s *status) error {
	return d.fields("cluster", map[string]func() error{
		"connection_string":             func() error { return d.into("cluster.connection_string", &s.connection) },
		"generation":                    func() error { return d.into("cluster.generation", &s.generation) },
		"active_primary_dc":             func() error { return d.into("cluster.active_primary_dc", &s.primaryDC) },
		"maintenance_zone":              func() error { return d.into("cluster.maintenance_zone", &s.maintenance) },
		"maintenance_seconds_remaining": func() error { return d.into("cluster.maintenance_seconds_remaining", &s.remaining) },
		"configuration":                 func() error { return d.configuration(s) },
		"recovery_state": func() error {
			var v struct {
				Name        string   `json:"name"`
				Generations *int     `json:"active_generations"`
				Age         *float64 `json:"seconds_since_last_recovered"`
			}
			err := d.into("cluster.recovery_state", &v)
			s.recovery, s.generations = v.Name, v.Generations
			if v.Age != nil && *v.Age >= 0 { // -1: unknown
				s.recoveredAge = v.Age
			}
			return err
		},
		"data": func() error { return d.data(s) },
		"logs": func() error { return d.logs(s) },
		"messages": func() error {
			var v []named
			err := d.into("cluster.messages", &v)
			s.messages = names(v)
			return err
		},
		"processes": func() error {
			return d.fields("cluster.processes", map[string]func() error{"*": func() error { return d.process(s) }})
		},
	})
}

func (d *decoder) configuration(s *status) error {
	var v struct {
		Redundancy string `json:"redundancy_mode"`
		Regions    int    `json:"usable_regions"`
		Excluded   []struct {
			Address  string `json:"address"`
			Locality string `json:"locality"`
		} `json:"excluded_servers"`
	}
	if err := d.into("cluster.configuration", &v); err != nil {
		return err
	}
	s.redundancy, s.regions = v.Redundancy, v.Regions
	for _, e := range v.Excluded {
		switch {
		case e.Locality != "":
			s.excluded = append(s.excluded, localityTarget(e.Locality))
		case e.Address != "":
			s.excluded = append(s.excluded, e.Address)
		}
	}
	return nil
}

func (d *decoder) data(s *status) error {
	type state struct {
		Name     string `json:"name"`
		Replicas *int   `json:"min_replicas_remaining"`
	}
	var v struct {
		State  state `json:"state"`
		Moving struct {
			InFlight float64 `json:"in_flight_bytes"`
		} `json:"moving_data"`
		Trackers []struct {
			Primary *bool `json:"primary"`
			State   state `json:"state"`
		} `json:"team_trackers"`
	}
	if err := d.into("cluster.data", &v); err != nil {
		return err
	}
	s.dataState, s.inFlight = v.State.Name, int64(v.Moving.InFlight)
	for _, t := range v.Trackers {
		s.trackers = append(s.trackers, tracker{t.Primary, t.State.Replicas})
	}
	return nil
}

func (d *decoder) logs(s *status) error {
	var v []struct {
		Current            *bool `json:"current"`
		Losing             bool  `json:"possibly_losing_data"`
		Tolerance          *int  `json:"log_fault_tolerance"`
		Factor             *int  `json:"log_replication_factor"`
		RemoteTolerance    *int  `json:"remote_log_fault_tolerance"`
		RemoteFactor       *int  `json:"remote_log_replication_factor"`
		SatelliteTolerance *int  `json:"satellite_log_fault_tolerance"`
		SatelliteFactor    *int  `json:"satellite_log_replication_factor"`
	}
	if err := d.into("cluster.logs", &v); err != nil {
		return err
	}
	for _, l := range v {
		s.logs = append(s.logs, logSet{
			current: l.Current, losing: l.Losing,
			local:     logTolerance{l.Tolerance, l.Factor},
			remote:    logTolerance{l.RemoteTolerance, l.RemoteFactor},
			satellite: logTolerance{l.SatelliteTolerance, l.SatelliteFactor},
		})
	}
	return nil
}

type processJSON struct {
	Address  string   `json:"address"`
	Class    string   `json:"class_type"`
	Version  string   `json:"version"`
	Uptime   *float64 `json:"uptime_seconds"`
	Excluded *bool    `json:"excluded"`
	Messages []named  `json:"messages"`
	Locality struct {
		Instance string `json:"instance_id"`
		Zone     string `json:"zoneid"`
		DC       string `json:"dcid"`
		Hall     string `json:"data_hall"`
		DNS      string `json:"dns_name"`
	} `json:"locality"`
	Roles *[]struct {
		Role   string  `json:"role"`
		Stored float64 `json:"stored_bytes"`
		Lag    struct {
			Seconds float64 `json:"seconds"`
		} `json:"data_lag"`
	} `json:"roles"`
}

// tooMuch tells what of a process is more than any has; there are others already.
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
		texts = append(texts, (*p.Roles)[i].Role)
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
	if problem := v.tooMuch(len(s.processes)); problem != "" {
		engines.CountTooLarge()
		return fmt.Errorf("%w: %s", ErrTooMuch, problem)
	}
	p := process{
		address: v.Address, instance: v.Locality.Instance, zone: v.Locality.Zone, hall: v.Locality.Hall, dc: v.Locality.DC, dns: v.Locality.DNS,
		class: v.Class, version: v.Version, uptime: v.Uptime, excluded: v.Excluded, messages: names(v.Messages), rolesKnown: v.Roles != nil,
	}
	if v.Roles != nil {
		for _, r := range *v.Roles {
			p.roles = append(p.roles, r.Role)
			p.stored += int64(r.Stored)
			p.lag = max(p.lag, r.Lag.Seconds)
		}
	}
	s.processes = append(s.processes, p)
	return nil
}
