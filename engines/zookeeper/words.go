package zookeeper

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
)

var (
	errLooking  = errors.New("it serves nobody: it looks for a leader, or receives the leader's data")
	errReadOnly = errors.New("it is in read-only mode: it has no leader")
	errDown     = errors.New("nobody listens on the client port")
	errEmpty    = errors.New("it closes connections without an answer: does the port speak TLS (spec.connection.tls)? Is maxClientCnxns too small?")
)

// notAllowedError means that a word is not in 4lw.commands.whitelist.
type notAllowedError struct{ word string }

func (e *notAllowedError) Error() string { return e.word + " is not in 4lw.commands.whitelist" }

const (
	notServing = "This ZooKeeper instance is not currently serving requests"
	notAllowed = "is not executed because it is not in the whitelist"
	// maxWords bounds an answer. mntr of a leader with many learners has about 50 KiB.
	maxWords = 512 << 10
)

// clientPort reaches client ports, with TLS or without.
type clientPort struct {
	access web.Access
	tls    *tls.Config
}

// dial connects to a client port within the context, which has a deadline.
func (c clientPort) dial(ctx context.Context, address string) (net.Conn, error) {
	dial := c.access.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("%w: %s", errDown, address)
		}
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if c.tls == nil {
		return conn, nil
	}
	config := c.tls.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(address)
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("tls: %w", err)
	}
	return secure, nil
}

// say sends a word and returns the answer. A connection is good for one word.
func (c clientPort) say(ctx context.Context, address, word string) (string, error) {
	conn, err := c.dial(ctx, address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := io.WriteString(conn, word); err != nil {
		return "", fmt.Errorf("%s: %w", word, err)
	}
	data, err := io.ReadAll(io.LimitReader(conn, min(maxWords, c.access.MaxBytes)+1))
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: %w", word, ctx.Err())
	case int64(len(data)) > min(maxWords, c.access.MaxBytes):
		engines.CountTooLarge()
		return "", fmt.Errorf("%s: %w", word, web.ErrTooLarge)
	case err != nil:
		return "", fmt.Errorf("%s: %w", word, err)
	case len(data) == 0:
		return "", fmt.Errorf("%s: %w", word, errEmpty)
	}
	text := string(data)
	switch {
	case strings.HasPrefix(text, notServing):
		return "", errLooking
	case len(text) < 200 && strings.Contains(text, notAllowed):
		return "", &notAllowedError{word}
	}
	return text, nil
}

// local is the address of the local server.
func (c clientPort) local() string { return c.access.Address() }

// status asks by mntr and conf. Who may not use conf learns the rest elsewhere.
func (c clientPort) status(ctx context.Context) (status, error) {
	text, err := c.say(ctx, c.local(), "mntr")
	if err != nil {
		return status{}, err
	}
	s, err := decodeMonitor(text)
	if err != nil || s.mode == Standalone {
		return s, err
	}
	text, err = c.say(ctx, c.local(), "conf")
	var refused *notAllowedError
	switch {
	case errors.As(err, &refused):
		return s, nil
	case err != nil:
		return s, err
	}
	s.id = decodeValues(text, "=").number("serverId")
	_, members, found := strings.Cut(text, "membership:")
	if !found || s.id < 0 || !strings.Contains(members, "\nversion=") {
		return s, fmt.Errorf("conf: %w", errNoServers)
	}
	s.config = members
	return s, nil
}

// ask asks another server by srvr, which every server allows. The port in a configuration is the one
// without TLS.
func (c clientPort) ask(ctx context.Context, host string, port int) Answer {
	if port == 0 || c.tls != nil {
		port = c.access.Port
	}
	text, err := c.say(ctx, net.JoinHostPort(host, strconv.Itoa(port)), "srvr")
	if errors.Is(err, errLooking) {
		return Answer{Looking: true, Why: err.Error()}
	}
	if err != nil {
		return Answer{Why: engines.OneLine(err.Error())}
	}
	v := decodeValues(text, ": ")
	mode := modeOf(v["Mode"])
	if mode == ModeUnknown || versionOf(v["Zookeeper version"]) == "" {
		return Answer{Why: "it does not tell its mode"}
	}
	return Answer{Mode: mode}
}
