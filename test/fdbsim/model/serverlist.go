package model

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
	"time"
)

// serverList begins the keys of storage servers in the database itself. There is one for each that the database counts on,
// whether its process is there or not; whoever ceases to be counted on is struck from it by the data distributor. What a
// process is away for does not matter, nor what status says.
const serverList = "\xff/serverList/"

// UID is the identity of a storage server, as it is in a key. Its first half is what status shows as the id of the role.
func (s *Server) UID() [16]byte {
	var uid [16]byte
	first, err := hex.DecodeString(roleID(s.ID))
	if err != nil {
		panic(err)
	}
	second, err := hex.DecodeString(hexID("server", strconv.Itoa(s.ID), "", 16))
	if err != nil {
		panic(err)
	}
	binary.LittleEndian.PutUint64(uid[:8], binary.BigEndian.Uint64(first))
	binary.LittleEndian.PutUint64(uid[8:], binary.BigEndian.Uint64(second))
	return uid
}

// KeysBetween are the keys of a range, sorted: those that were written, and those of the list of storage servers.
func (c *Cluster) KeysBetween(begin, end []byte) [][]byte {
	var out [][]byte
	add := func(key []byte) {
		if bytes.Compare(begin, key) <= 0 && bytes.Compare(key, end) < 0 {
			out = append(out, key)
		}
	}
	for _, s := range c.Shards {
		for key := range s.Data {
			add([]byte(key))
		}
	}
	for _, s := range c.Servers {
		uid := s.UID()
		add(append([]byte(serverList), uid[:]...))
	}
	slices.SortFunc(out, bytes.Compare)
	return out
}

// ReadVersion grows by a million a second.
func (c *Cluster) ReadVersion() int64 { return int64(c.Now/time.Microsecond) + int64(c.Sequence) }
