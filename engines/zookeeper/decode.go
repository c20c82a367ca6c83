package zookeeper

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sorted"
)

const (
	// maxServers bounds an ensemble.
	maxServers = 64
	// maxHost bounds the name of a host.
	maxHost = 253
	// maxVersion bounds the text of a version.
	maxVersion = 64
)

var (
	errManyServers = fmt.Errorf("the configuration has more than %d servers", maxServers)
	errNoServers   = errors.New("the configuration names no servers: ZooKeeper 3.5.5 or newer is needed")
)

// nodeOf is the name of the server with this myid.
func nodeOf(id int64) string { return "server." + strconv.FormatInt(id, 10) }

// idOf is the myid of a node; -1 if it has none.
func idOf(node string) int64 {
	if text, ok := strings.CutPrefix(node, "server."); ok {
		if id, err := strconv.ParseInt(text, 10, 64); err == nil && id >= 0 {
			return id
		}
	}
	return -1
}

// byID orders nodes by their numbers.
func byID(a, b string) int { return cmp.Or(cmp.Compare(idOf(a), idOf(b)), cmp.Compare(a, b)) }

// decodeConfig reads the lines of a configuration, as zoo.cfg and the znode /zookeeper/config have
// them. It skips lines of other things.
func decodeConfig(text string) (Config, error) {
	var c Config
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key = strings.TrimSpace(key); {
		case strings.HasPrefix(key, "group."), strings.HasPrefix(key, "weight."):
			c.Weighted = true
		case strings.HasPrefix(key, "server."):
			id := idOf(key)
			if id < 0 {
				return Config{}, fmt.Errorf("the configuration has a server %q: must be server. and a number", engines.OneLine(key))
			}
			s, err := decodeServer(strings.TrimSpace(value))
			if err != nil {
				return Config{}, fmt.Errorf("server.%d: %w", id, err)
			}
			s.Node = nodeOf(id)
			if seen[s.Node] {
				return Config{}, fmt.Errorf("the configuration has %s twice", s.Node)
			}
			if seen[s.Node] = true; len(seen) > maxServers {
				return Config{}, errManyServers
			}
			c.Servers = append(c.Servers, s)
		}
	}
	sorted.By(c.Servers, func(a, b Server) int { return byID(a.Node, b.Node) })
	if len(c.voters()) == 0 {
		return Config{}, errNoServers
	}
	return c, nil
}

// decodeServer reads HOST:PORT:PORT[|HOST:PORT:PORT...][:participant|:observer][;[HOST:]PORT].
func decodeServer(text string) (Server, error) {
	s := Server{Voter: true}
	addresses, client, _ := strings.Cut(text, ";")
	if at := strings.LastIndex(addresses, ":"); at >= 0 {
		switch kind := strings.ToLower(addresses[at+1:]); kind {
		case "participant", "observer":
			s.Voter, addresses = kind == "participant", addresses[:at]
		}
	}
	first, _, _ := strings.Cut(addresses, "|")
	host, ports, ok := cutHost(first)
	if !ok || strings.Count(ports, ":") != 1 {
		return Server{}, fmt.Errorf("%q: must be HOST:PORT:PORT", engines.OneLine(text))
	}
	if len(host) > maxHost {
		return Server{}, errors.New("the name of its host is too long")
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
		s.Host = engines.OneLine(host)
	}
	if client = client[strings.LastIndex(client, ":")+1:]; client != "" {
		port, err := strconv.ParseUint(client, 10, 16)
		if err != nil {
			return Server{}, fmt.Errorf("%q: its client port must be a number", engines.OneLine(text))
		}
		s.Client = int(port)
	}
	return s, nil
}

// cutHost cuts HOST:REST, where the host may be an IPv6 address in brackets.
func cutHost(text string) (host, rest string, ok bool) {
	if inner, open := strings.CutPrefix(text, "["); open {
		host, rest, ok = strings.Cut(inner, "]:")
	} else {
		host, rest, ok = strings.Cut(text, ":")
	}
	return host, rest, ok && host != ""
}

// values are the lines of mntr or conf, each a name and a value.
type values map[string]string

func decodeValues(text, separator string) values {
	out := values{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), separator); ok {
			out[name] = strings.TrimSpace(value)
		}
	}
	return out
}

// number returns a count; -1 means that it is not told.
func (v values) number(names ...string) int64 {
	for _, name := range names {
		if n, err := strconv.ParseInt(v[name], 10, 64); err == nil && n >= 0 {
			return n
		}
	}
	return -1
}

// status is what a server says of itself in one look.
type status struct {
	id      int64 // -1 means that it is not told
	client  int64 // the port for clients without TLS; 0 and less mean that it is not told
	leader  int64 // the leader's id; -1 means that it is not told
	mode    Mode
	version string

	learners, observing, synced int64
	bytes                       int64
	// config is the text of the configuration; empty means that it must be read elsewhere.
	config string
}

// decodeMonitor reads mntr. A text that ends early has not all that a server says in its mode.
func decodeMonitor(text string) (status, error) {
	v := decodeValues(text, "\t")
	s := status{
		id: -1, leader: -1, mode: modeOf(v["zk_server_state"]), version: versionOf(v["zk_version"]),
		learners: v.number("zk_learners", "zk_followers"), synced: v.number("zk_synced_followers"), observing: v.number("zk_synced_observers"),
		bytes: max(0, v.number("zk_approximate_data_size")),
	}
	if !strings.HasSuffix(text, "\n") {
		return s, errors.New("mntr: the answer ends in the middle of a line")
	}
	return s, s.check(v["zk_server_state"])
}

// check returns an error if a server of this kind would have said more.
func (s status) check(state string) error {
	switch {
	case s.version == "":
		return errors.New("the server does not tell its version: it is not ZooKeeper")
	case state == "read-only":
		return errReadOnly
	case s.mode == ModeUnknown:
		return fmt.Errorf("the server does not tell its mode, but %q", engines.OneLine(state))
	case s.mode == Leading && (s.learners < 0 || s.synced < 0):
		return errors.New("the leader does not tell how many follow it")
	}
	return nil
}

// versionOf reads "3.9.4-7246445e, built on 2025-08-19 19:53 UTC". Empty means that it is none.
func versionOf(text string) string {
	text, _, _ = strings.Cut(text, ",")
	if len(text) > maxVersion {
		return ""
	}
	v, err := engines.ParseVersion(text)
	if err != nil {
		return ""
	}
	return v.String()
}
