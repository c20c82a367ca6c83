package fdbreal

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

const (
	readSystem     = "option on READ_SYSTEM_KEYS"
	lockAware      = "option on LOCK_AWARE"
	shardMap       = `\xff/keyServers/`
	idLength       = 16
	versionLength  = 8
	mostSystemKeys = 10000
)

// shard is a range of keys, with the ids of the storage servers that have a copy of it. Where it is being moved, Dest are
// those that will.
type shard struct {
	Begin     string
	Src, Dest []string
}

// shards is the database's own map of them: what the servers that hold it have on their disks, not what
// anybody has noticed or decided since.
func (c *client) shards(ctx context.Context, limit time.Duration) ([]shard, error) {
	a := c.run(ctx, limit, readSystem, lockAware, fmt.Sprintf(`getrange %s \xff/keyServers0 %d`, shardMap, mostSystemKeys))
	if a.code != 0 || strings.Contains(a.stderr, "ERROR") {
		return nil, fmt.Errorf("read the map of shards: %s", a)
	}
	all, err := pairs(a.stdout)
	if err != nil {
		return nil, err
	}
	var shards []shard
	for key, value := range all {
		begin, ours := strings.CutPrefix(key, "\xff/keyServers/")
		if !ours || len(value) == 0 { // the end of all keys
			continue
		}
		s := shard{Begin: begin}
		rest := value
		if len(rest) < versionLength {
			return nil, fmt.Errorf("shard %q: %q: must begin with a version", begin, value)
		}
		rest = rest[versionLength:]
		for _, ids := range []*[]string{&s.Src, &s.Dest} {
			if *ids, rest, err = serverIDs(rest); err != nil {
				return nil, fmt.Errorf("shard %q: %w", begin, err)
			}
		}
		shards = append(shards, s)
	}
	if len(shards) == 0 {
		return nil, fmt.Errorf("read the map of shards: %s: must have one at least", a)
	}
	return shards, nil
}

func serverIDs(data []byte) (ids []string, rest []byte, err error) {
	if len(data) < 4 {
		return nil, nil, fmt.Errorf("%q: must begin with a number of servers", data)
	}
	n := int(binary.LittleEndian.Uint32(data))
	if data = data[4:]; len(data) < n*idLength {
		return nil, nil, fmt.Errorf("%d servers in %d bytes: must be %d bytes each", n, len(data), idLength)
	}
	for range n {
		ids = append(ids, serverID(data[:idLength]))
		data = data[idLength:]
	}
	return ids, data, nil
}

// serverID is a server's id as the status document prints it: its first half, which is in the order of the machine, as a
// number.
func serverID(raw []byte) string {
	var first [8]byte
	binary.BigEndian.PutUint64(first[:], binary.LittleEndian.Uint64(raw))
	return hex.EncodeToString(first[:])
}
