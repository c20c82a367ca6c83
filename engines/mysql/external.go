package mysql

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// handoffCall tells another manager that the member is about to be stopped, and that its
// role of primary has to move first.
type handoffCall struct {
	Claim string `json:"claim"`
	// From is the member that has the role now.
	From string `json:"from"`
	// Eligible members; empty means any.
	Eligible []string `json:"eligible,omitempty"`
}

// elsewhere waits until the manager that owns the topology has moved the role.
func (e *Engine) elsewhere(ctx context.Context, order engines.Order, s replication.State) (engines.Progress, error) {
	switch {
	case !s.Serving:
		return engines.Progress{State: engines.ProgressRunning, Detail: s.Node + " does not serve: " + s.Problem}, nil
	case s.Source != nil && s.Writes != replication.Allowed:
		return engines.Progress{State: engines.ProgressDone, Detail: s.Node + " is a replica"}, nil
	case len(e.peers()) == 0 && len(s.Replicas) == 0:
		return engines.Progress{State: engines.ProgressDone, Detail: "nobody else is there to take over"}, nil
	}
	waits := engines.Progress{State: engines.ProgressRunning, Detail: "waiting until the manager of the topology has moved the role of primary away from " + s.Node}
	if order.KeepWrites {
		waits.Writes = engines.WritesKept // nobody here stops them, and the manager cannot be told to wait
	}
	if e.options.Failover == External {
		return waits, nil
	}
	e.mu.Lock()
	told := e.asked == order.Claim
	e.mu.Unlock()
	switch {
	case told:
		return waits, nil
	case order.KeepWrites:
		waits.Writes = engines.WritesReady
		return waits, nil
	}
	if err := engines.InTime(order.NotAfter); err != nil {
		return engines.Progress{}, err
	}
	if err := tell(ctx, e.options.Failover, e.options.Timeout, handoffCall{Claim: order.Claim, From: s.Node, Eligible: order.Eligible}); err != nil {
		if ctx.Err() != nil {
			return engines.Progress{}, ctx.Err()
		}
		waits.Detail = "the manager of the topology could not be told: " + engines.OneLine(err.Error())
		return waits, nil
	}
	e.mu.Lock()
	e.asked = order.Claim
	e.mu.Unlock()
	return waits, nil
}

// tell posts the call once. Any answer but 200 is a failure.
func tell(ctx context.Context, address string, timeout time.Duration, call handoffCall) error {
	u, err := hookURL(address)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		port = map[string]int{"http": 80, "https": 443}[u.Scheme]
	}
	client, err := web.New(web.Options{
		Access: web.Access{Host: u.Hostname(), Port: port, TLS: web.TLS{Enabled: u.Scheme == "https"}, Timeout: timeout, MaxBytes: 64 << 10},
		Server: "the manager", Connections: 1,
		Words: func([]byte) (string, string) { return "", "" },
	})
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Do(ctx, web.Request{Method: "POST", Path: u.Path, Params: u.Query(), Body: call, Timeout: timeout, Name: "handoff"})
}

// hookURL reads Options.Failover where it is a URL.
func hookURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil {
		return nil, fmt.Errorf("failover: must be %s or an http(s) URL without a user", External)
	}
	return u, nil
}
