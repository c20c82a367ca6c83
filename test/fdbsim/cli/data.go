package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

// systemKeys begin with this byte, and are read only by who has asked for it.
const systemKeys = '\xff'

func (s *session) writemodeCommand(_ context.Context, tokens []string) (bool, error) {
	if len(tokens) != 2 || tokens[1] != "on" && tokens[1] != "off" {
		return s.misused("writemode")
	}
	s.writes = tokens[1] == "on"
	return true, nil
}

func (s *session) setCommand(ctx context.Context, tokens []string) (bool, error) {
	if len(tokens) != 3 {
		return s.misused("set")
	}
	if !s.writes {
		fmt.Fprint(s.Stderr, "ERROR: writemode must be enabled to set or clear keys in the database.\n")
		return false, nil
	}
	reply, err := s.ask(ctx, wire.Request{Op: wire.Commit, Key: tokens[1], Value: tokens[2], LockAware: s.options["LOCK_AWARE"]})
	if err != nil {
		return false, err
	}
	if !s.allowed(reply.Problem) {
		return false, nil
	}
	fmt.Fprintf(s.Stdout, "Committed (%d)\n", reply.ReadVersion)
	return true, nil
}

func (s *session) getCommand(ctx context.Context, tokens []string) (bool, error) {
	if len(tokens) != 2 {
		return s.misused("get")
	}
	reply, err := s.ask(ctx, wire.Request{Op: wire.Read, Key: tokens[1], LockAware: s.options["LOCK_AWARE"]})
	switch {
	case err != nil:
		return false, err
	case !s.allowed(reply.Problem):
		return false, nil
	case reply.Value == "":
		fmt.Fprintf(s.Stdout, "`%s': not found\n", plain(tokens[1]))
	default:
		fmt.Fprintf(s.Stdout, "`%s' is `%s'\n", plain(tokens[1]), plain(reply.Value))
	}
	return true, nil
}

// allowed tells of a lock that was in the way.
func (s *session) allowed(p wire.Problem) bool {
	if p == wire.Locked {
		fmt.Fprint(s.Stderr, "ERROR: Database is locked (1038)\n")
	}
	return p != wire.Locked
}

func (s *session) getVersionCommand(ctx context.Context, tokens []string) (bool, error) {
	if len(tokens) != 1 {
		return s.misused("getversion")
	}
	reply, err := s.ask(ctx, wire.Request{Op: wire.Workers})
	if err != nil {
		return false, err
	}
	fmt.Fprintln(s.Stdout, reply.ReadVersion)
	return true, nil
}

func (s *session) lockCommand(ctx context.Context, tokens []string) (bool, error) {
	if len(tokens) != 1 {
		return s.misused("lock")
	}
	var id [16]byte
	_, _ = rand.Read(id[:])
	uid := hex.EncodeToString(id[:])
	fmt.Fprintf(s.Stdout, "Locking database with lockUID: %s\n", uid)
	reply, err := s.ask(ctx, wire.Request{Op: wire.Lock, Key: uid})
	if err != nil || !s.allowed(reply.Problem) {
		return false, err
	}
	fmt.Fprint(s.Stdout, "Database locked.\n")
	return true, nil
}

// known are the options that change anything here; the others are taken and ignored.
var known = []string{"READ_SYSTEM_KEYS", "ACCESS_SYSTEM_KEYS", "LOCK_AWARE", "READ_LOCK_AWARE", "TIMEOUT"}

func (s *session) optionCommand(_ context.Context, tokens []string) (bool, error) {
	if len(tokens) < 3 || tokens[1] != "on" && tokens[1] != "off" {
		return s.misused("option")
	}
	name := strings.ToUpper(tokens[2])
	if !slices.Contains(known, name) {
		fmt.Fprintf(s.Stderr, "ERROR: invalid option '%s'. Try `help options' for a list of available options.\n", tokens[2])
		return false, nil
	}
	if s.options == nil {
		s.options = map[string]bool{}
	}
	s.options[name] = tokens[1] == "on"
	state := map[bool]string{true: "enabled", false: "disabled"}[s.options[name]]
	fmt.Fprintf(s.Stdout, "Option %s for all transactions\n", state)
	return true, nil
}

func (s *session) rangeKeysCommand(ctx context.Context, tokens []string) (bool, error) {
	if len(tokens) < 2 || len(tokens) > 4 {
		return s.misused("getrangekeys")
	}
	limit, ok := 25, true
	if len(tokens) == 4 {
		limit, ok = positive(tokens[3])
	}
	if !ok {
		fmt.Fprint(s.Stderr, "ERROR: bad limit\n")
		return false, nil
	}
	r := wire.Request{Op: wire.ReadKeys, Begin: []byte(tokens[1]), LockAware: s.options["LOCK_AWARE"] || s.options["READ_LOCK_AWARE"]}
	if len(tokens) > 2 {
		r.End = []byte(tokens[2])
	} else {
		r.End = strinc(tokens[1])
	}
	if (tokens[1] + " ")[0] == systemKeys && !s.options["READ_SYSTEM_KEYS"] && !s.options["ACCESS_SYSTEM_KEYS"] {
		fmt.Fprint(s.Stderr, "ERROR: Key outside legal range (2004)\n")
		return false, nil
	}
	reply, err := s.ask(ctx, r)
	if err != nil || !s.allowed(reply.Problem) {
		return false, err
	}
	fmt.Fprintf(s.Stdout, "\nRange limited to %d keys\n", limit)
	for _, key := range reply.Keys[:min(limit, len(reply.Keys))] {
		fmt.Fprintf(s.Stdout, "`%s'\n", plain(string(key)))
	}
	fmt.Fprintln(s.Stdout)
	return true, nil
}

func positive(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n > 0
}

// strinc is the first key that does not begin with a prefix.
func strinc(prefix string) []byte {
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == systemKeys {
		end = end[:len(end)-1]
	}
	if len(end) > 0 {
		end[len(end)-1]++
	}
	return end
}
