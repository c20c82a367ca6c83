package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// people is what status and status details tell people, in as far as it is of any use: everything else is made up.
type people struct {
	Client struct {
		Coordinators struct {
			Coordinators []struct {
				Address   string
				Reachable bool
			}
		}
		ClusterFile struct{ Path string }    `json:"cluster_file"`
		Database    struct{ Available bool } `json:"database_status"`
	}
	Cluster struct {
		Configuration struct {
			Redundancy   string `json:"redundancy_mode"`
			Engine       string `json:"storage_engine"`
			Coordinators int    `json:"coordinators_count"`
			Regions      int    `json:"usable_regions"`
		}
		Data struct {
			State  struct{ Name string }
			Moving struct {
				Flying int64 `json:"in_flight_bytes"`
			} `json:"moving_data"`
		}
		Tolerance struct {
			Data         int `json:"max_zone_failures_without_losing_data"`
			Availability int `json:"max_zone_failures_without_losing_availability"`
		} `json:"fault_tolerance"`
		Machines  map[string]any
		Processes map[string]struct {
			Address string
			Zone    string `json:"fault_domain"`
		}
	}
}

// tellPeople prints a status for people.
func (s *session) tellPeople(document string, details bool) error {
	var d people
	if err := json.Unmarshal([]byte(document), &d); err != nil {
		return err
	}
	now := s.Clock().UTC().Format("01/02/06 15:04:05")
	print := func(format string, args ...any) { fmt.Fprintf(s.Stdout, format, args...) }
	print("Using cluster file `%s'.\n", d.Client.ClusterFile.Path)
	if !d.Client.Database.Available {
		print("\nThe database is unavailable; type `status' for more information.\n")
	} else {
		s.tellDatabase(d, now)
	}
	if details {
		print("Process performance details:\n")
		for _, a := range addresses(d) {
			print("  %-22s (  0%% cpu; 10%% machine; 0.032 Gbps;  7%% disk IO; 0.3 GB / 2.0 GB RAM  )\n", a)
		}
		print("\nCoordination servers:\n")
		for _, c := range d.Client.Coordinators.Coordinators {
			print("  %s  (%s)\n", c.Address, map[bool]string{true: "reachable", false: "unreachable"}[c.Reachable])
		}
		print("\n")
	}
	print("Client time: %s\n", now)
	return nil
}

func addresses(d people) []string {
	var out []string
	for _, p := range d.Cluster.Processes {
		out = append(out, p.Address)
	}
	slices.Sort(out)
	return out
}

func (s *session) tellDatabase(d people, now string) {
	zones := map[string]bool{}
	for _, p := range d.Cluster.Processes {
		zones[p.Zone] = p.Zone != ""
	}
	maps.DeleteFunc(zones, func(_ string, is bool) bool { return !is })
	health := "Healthy"
	if d.Cluster.Data.State.Name != "healthy" {
		health = "(" + d.Cluster.Data.State.Name + ")"
	}
	c := d.Cluster.Configuration
	fmt.Fprintf(s.Stdout, `
Configuration:
  Redundancy mode        - %s
  Storage engine         - %s
  Coordinators           - %d
  Usable Regions         - %d

Cluster:
  FoundationDB processes - %d
  Zones                  - %d
  Machines               - %d
  Memory availability    - 2.0 GB per process on machine with least available
                           >>>>> (WARNING: 4.0 GB recommended) <<<<<
  Fault Tolerance        - %d zones
  Server time            - %s

Data:
  Replication health     - %s
  Moving data            - %.3f GB
  Sum of key-value sizes - 0 MB
  Disk space used        - 629 MB

Operating space:
  Storage server         - 22.7 GB free on most full server
  Log server             - 22.7 GB free on most full server

Workload:
  Read rate              - 6 Hz
  Write rate             - 0 Hz
  Transactions started   - 3 Hz
  Transactions committed - 0 Hz
  Conflict rate          - 0 Hz

Backup and DR:
  Running backups        - 0
  Running DRs            - 0

`, c.Redundancy, c.Engine, c.Coordinators, c.Regions, len(d.Cluster.Processes), len(zones), len(d.Cluster.Machines),
		min(d.Cluster.Tolerance.Data, d.Cluster.Tolerance.Availability), now, health, float64(d.Cluster.Data.Moving.Flying)/1e9)
}
