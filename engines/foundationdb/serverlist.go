package foundationdb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
)

// The database keeps a list of its storage servers. A server is on it from when it is recruited
// until the last shard has been moved off it, whether it runs or not. So it says from the first
// second on what is missing, to whoever looks, when the status document does not: it takes a minute
// to count copies as missing, another one after each restart of data distribution, and for ever
// where that is disabled.
//
// Invariant: a server that is on the list and does not run is missing, and a list that could not be
// read leaves everything unknown. (TestServerList, TestRecordings)

// serverList are the storage servers on which the database counts, by the ids of their roles.
type serverList struct {
	ids  []string // sorted
	read bool
	why  string // why it is not known, where it is not read
}

const (
	serverListBegin = `\xff/serverList/`
	serverListEnd   = `\xff/serverList0`
	// serversAtOnce is how many keys are asked for at once.
	serversAtOnce = 2000
	maxServers    = 2 * maxProcesses
)

// listTimeout ends the reading of the list after 2 s: eight bytes, in milliseconds. fdbcli keeps what it
// has printed until it ends, so without it the document of a database that is not available, which
// comes first, would come with the end of fdbcli's own time.
const listTimeout = `\xd0\x07\x00\x00\x00\x00\x00\x00`

// serverListFrom is the command that lists servers from a key on.
func serverListFrom(begin string) string {
	return fmt.Sprintf("option on READ_SYSTEM_KEYS; option on LOCK_AWARE; option on TIMEOUT %s; getrangekeys %s %s %d", listTimeout, begin, serverListEnd, serversAtOnce)
}

// unread is a list that could not be read.
func unread(err error) serverList {
	words := err.Error()
	for _, first := range []string{"option: ", "status: "} {
		words = strings.TrimPrefix(words, first)
	}
	return serverList{why: "the list of storage servers could not be read: " + engines.OneLine(words)}
}

// servers reads the list, of which a is the first answer. Only an end of the context, or of the
// client, is an error.
func (c *client) servers(ctx context.Context, a answer) (out serverList, err error) {
	for {
		if err == nil {
			err = a.done("getrangekeys")
		}
		if ctx.Err() != nil || errors.Is(err, ErrClosed) {
			return serverList{}, err
		}
		var keys []string
		if err == nil {
			keys, err = readServerKeys(a.stdout)
		}
		if err != nil {
			return unread(err), nil
		}
		for _, key := range keys {
			id := binary.LittleEndian.Uint64([]byte(key))
			out.ids = append(out.ids, fmt.Sprintf("%016x", id))
		}
		if len(keys) < serversAtOnce {
			slices.Sort(out.ids)
			out.ids, out.read = slices.Compact(out.ids), true
			return out, nil
		}
		if len(out.ids) > maxServers {
			engines.CountTooLarge()
			return serverList{why: fmt.Sprintf("the list of storage servers has more than %d", maxServers)}, nil
		}
		a, err = c.ask(ctx, serverListFrom(serverListBegin+escaped(keys[len(keys)-1])+`\x00`))
	}
}

// readServerKeys reads what getrangekeys prints, and returns the 16 bytes of each key. An empty line
// ends the list: without it there may be more.
func readServerKeys(text string) ([]string, error) {
	var keys []string
	listed, ended := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "Range limited to ") {
			listed, ended = true, false
			continue
		}
		if line == "" {
			ended = true
			continue
		}
		key, ok := strings.CutPrefix(line, "`")
		if !ok {
			continue
		}
		key, ok = strings.CutSuffix(key, "'")
		id, of := strings.CutPrefix(strings.ToLower(key[:min(len(key), len(serverListBegin))]), strings.ToLower(serverListBegin))
		if !ok || !of || id != "" {
			return nil, fmt.Errorf("%w: %q is no key of it", ErrCommand, engines.OneLine(line))
		}
		raw, err := unescaped(key[len(serverListBegin):])
		if err != nil || len(raw) != 16 {
			return nil, fmt.Errorf("%w: %q is no key of 16 bytes", ErrCommand, engines.OneLine(line))
		}
		keys, ended = append(keys, raw), false
	}
	if !listed {
		return nil, fmt.Errorf("%w: fdbcli did not list it", ErrCommand)
	}
	if !ended {
		return nil, fmt.Errorf("%w: the list breaks off", ErrCommand)
	}
	return keys, nil
}

// unescaped reads a key as fdbcli prints it: what cannot be printed as \x and two digits, and \ twice.
func unescaped(text string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '\\':
			out.WriteByte(text[i])
		case strings.HasPrefix(text[i:], `\\`):
			out.WriteByte('\\')
			i++
		case strings.HasPrefix(text[i:], `\x`) && len(text) >= i+4:
			b, err := strconv.ParseUint(text[i+2:i+4], 16, 8)
			if err != nil {
				return "", err
			}
			out.WriteByte(byte(b))
			i += 3
		default:
			return "", strconv.ErrSyntax
		}
	}
	return out.String(), nil
}

// escaped is a key as fdbcli reads it.
func escaped(raw string) string {
	var out strings.Builder
	for _, b := range []byte(raw) {
		fmt.Fprintf(&out, `\x%02x`, b)
	}
	return out.String()
}

// unnamed is a process with a storage server that has no id; empty means there is none.
func (s *status) unnamed() string {
	for _, p := range s.processes {
		if slices.ContainsFunc(p.ids, func(r roleID) bool { return r.role == "storage" && r.id == "" }) {
			return endpoint(p.address)
		}
	}
	return ""
}

// stranger is a storage server of the status that is not on its list; empty means there is none. The
// status has them from the same list, so one that has come or gone in between is on both, or on
// neither, at the next look.
func (s *status) stranger() string {
	listed := map[string]bool{}
	for _, id := range s.list.ids {
		listed[id] = true
	}
	for _, p := range s.processes {
		for _, r := range p.ids {
			if r.role == "storage" && !listed[r.id] {
				return r.id + " at " + endpoint(p.address)
			}
		}
	}
	return ""
}

// unlisted is why it is not known which storage servers are missing; empty means that it is.
func (s *status) unlisted() string {
	switch at, stranger := s.unnamed(), s.stranger(); {
	case at != "":
		return "the storage server at " + engines.OneLine(at) + " has no id in the status"
	case s.list.read && stranger != "":
		return "storage server " + engines.OneLine(stranger) + " is in the status and not on the list of storage servers"
	case s.list.read:
		return ""
	case s.list.why != "":
		return s.list.why
	}
	return "the list of storage servers has not been read"
}
