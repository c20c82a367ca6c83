package fdbreal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// status is the little of the database's own document that the judge looks at.
type status struct {
	Client struct {
		DatabaseStatus struct {
			Available bool `json:"available"`
		} `json:"database_status"`
		Coordinators struct {
			Coordinators []struct {
				Address   string `json:"address"`
				Reachable bool   `json:"reachable"`
			} `json:"coordinators"`
		} `json:"coordinators"`
	} `json:"client"`
	Cluster struct {
		ConnectionString string `json:"connection_string"`
		Data             struct {
			State struct {
				Name    string `json:"name"`
				Healthy bool   `json:"healthy"`
				Least   int    `json:"min_replicas_remaining"`
			} `json:"state"`
		} `json:"data"`
		RecoveryState struct {
			Name  string  `json:"name"`
			Since float64 `json:"seconds_since_last_recovered"`
		} `json:"recovery_state"`
		Maintenance string            `json:"maintenance_zone"`
		Processes   map[string]listed `json:"processes"`
		Messages    []struct {
			Name string `json:"name"`
		} `json:"messages"`
	} `json:"cluster"`
}

type listed struct {
	Address  string            `json:"address"`
	Class    string            `json:"class_type"`
	Excluded bool              `json:"excluded"`
	Locality map[string]string `json:"locality"`
	Roles    []struct {
		Role string `json:"role"`
		ID   string `json:"id"`
	} `json:"roles"`
}

// status asks the database for its document.
func (c *client) status(ctx context.Context, limit time.Duration) (status, error) {
	a := c.run(ctx, limit, "status json")
	var s status
	from := strings.IndexByte(a.stdout, '{')
	if from < 0 {
		return s, fmt.Errorf("status json: %s", a)
	}
	if err := json.Unmarshal([]byte(a.stdout[from:]), &s); err != nil {
		return s, fmt.Errorf("status json: %w", err)
	}
	return s, nil
}

// whole says what is missing until the database is at rest with this many processes.
func (s status) whole(processes int) error {
	switch d := s.Cluster.Data.State; {
	case !s.Client.DatabaseStatus.Available:
		return errors.New("the database is not available")
	case len(s.Cluster.Processes) != processes:
		return fmt.Errorf("%d processes of %d", len(s.Cluster.Processes), processes)
	case s.Cluster.RecoveryState.Name != "fully_recovered":
		return fmt.Errorf("the recovery is at %s", s.Cluster.RecoveryState.Name)
	case !d.Healthy || d.Name != "healthy":
		return fmt.Errorf("data are %s, %d copies at least", d.Name, d.Least)
	}
	return nil
}

// roles are those of a pod's process, sorted, each once.
func (s status) roles(pod string) []string {
	var roles []string
	for _, p := range s.Cluster.Processes {
		if p.Locality["instance_id"] == pod {
			for _, r := range p.Roles {
				roles = append(roles, r.Role)
			}
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

// podWith is the pod whose process has the role; empty if none is listed.
func (s status) podWith(role string) string {
	for _, p := range s.Cluster.Processes {
		for _, r := range p.Roles {
			if r.Role == role {
				return p.Locality["instance_id"]
			}
		}
	}
	return ""
}

// seats are the coordinators as the cluster file names them.
func (s status) seats() []string {
	_, seats, found := strings.Cut(s.Cluster.ConnectionString, "@")
	if !found {
		return nil
	}
	return strings.Split(seats, ",")
}

// say is one line for the log.
func (s status) say() string {
	names := make([]string, 0, len(s.Cluster.Messages))
	for _, m := range s.Cluster.Messages {
		names = append(names, m.Name)
	}
	return fmt.Sprintf("available %t, %d processes, recovery %s, data %s (%d copies), messages %v",
		s.Client.DatabaseStatus.Available, len(s.Cluster.Processes), s.Cluster.RecoveryState.Name, s.Cluster.Data.State.Name, s.Cluster.Data.State.Least, names)
}
