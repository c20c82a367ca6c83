package zookeeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines/web"
)

// admin asks the admin server over HTTP. Unlike words over the client port, its commands leave no
// line in the server's log.
type admin struct {
	client  *web.Client
	timeout time.Duration
}

func newAdmin(access web.Access) (*admin, error) {
	client, err := web.New(web.Options{
		Access: access, Server: "zookeeper's admin server", Connections: 1,
		Words: func([]byte) (kind, message string) { return "", "" },
	})
	if err != nil {
		return nil, err
	}
	return &admin{client: client, timeout: access.Timeout}, nil
}

// answer is what the commands say, each a part of it.
type answer struct {
	Command string  `json:"command"`
	Error   *string `json:"error"`

	Client   *int64 `json:"client_port"`
	ServerID *int64 `json:"server_id"`
	LeaderID *int64 `json:"leader_id"`

	Version   string `json:"version"`
	State     string `json:"server_state"`
	Learners  *int64 `json:"learners"`
	Followers *int64 `json:"followers"` // what 3.5 calls learners
	Synced    *int64 `json:"synced_followers"`
	Observing *int64 `json:"synced_observers"`
	Bytes     *int64 `json:"approximate_data_size"`
}

// unknownCommandError means that this version does not have the command.
type unknownCommandError struct{ command string }

func (e *unknownCommandError) Error() string {
	return fmt.Sprintf("the admin server of this version has no command %s", e.command)
}

func (a *admin) run(ctx context.Context, command string) (answer, error) {
	var out answer
	err := a.client.Do(ctx, web.Request{
		Path: "/commands/" + command, Name: "admin server: " + command, Timeout: a.timeout,
		Read: func(body io.Reader) error { return json.NewDecoder(body).Decode(&out) },
	})
	switch {
	case err != nil:
		return answer{}, err
	case out.Command == "":
		return answer{}, errors.New("what answers is not the admin server of ZooKeeper")
	case out.Error != nil && strings.HasPrefix(*out.Error, notServing):
		return answer{}, errLooking
	case out.Error != nil && strings.HasPrefix(*out.Error, "Unknown command"):
		return answer{}, &unknownCommandError{command}
	case out.Error != nil:
		return answer{}, fmt.Errorf("admin server: %s: %q", command, *out.Error)
	}
	return out, nil
}

// status asks by commands. Only the first one says in all versions that a server serves nobody.
func (a *admin) status(ctx context.Context) (status, error) {
	own, err := a.run(ctx, "configuration")
	if err != nil {
		return status{}, err
	}
	m, err := a.run(ctx, "monitor")
	if err != nil {
		return status{}, err
	}
	s := status{
		id: told(own.ServerID), client: told(own.Client), leader: -1, mode: modeOf(m.State), version: versionOf(m.Version),
		learners: max(told(m.Learners), told(m.Followers)), synced: told(m.Synced), observing: told(m.Observing), bytes: max(0, told(m.Bytes)),
	}
	if err := s.check(m.State); err != nil || s.mode == Standalone {
		return s, err
	}
	var unknown *unknownCommandError
	leader, err := a.run(ctx, "leader")
	if err != nil && !errors.As(err, &unknown) {
		return s, err
	}
	s.leader = told(leader.LeaderID)
	return s, nil
}

// told returns a number; -1 means that it is not told.
func told(n *int64) int64 {
	if n == nil || *n < 0 {
		return -1
	}
	return *n
}

func (a *admin) close() { a.client.Close() }
