package model

import (
	"errors"
	"hash/fnv"
	"maps"
	"slices"
	"time"
)

// ErrUnavailable means that the database does not answer now. Clients ask again.
var ErrUnavailable = errors.New("the database is unavailable")

// Write is a value and when it was committed.
type Write struct {
	Value string
	At    time.Duration
}

// Pending is a write that is in logs, and not yet durable on storage servers.
type Pending struct {
	Key    string
	Before *Write // what it replaced
	At     time.Duration
	Logs   []int
}

func cloneData(data map[string]Write) map[string]Write {
	if data == nil {
		return nil
	}
	return maps.Clone(data)
}

func (c *Cluster) shardOf(key string) *Shard {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return c.Shards[int(h.Sum32()%uint32(len(c.Shards)))]
}

// Commit writes, and returns nil when it is acknowledged: on the logs, as often as the redundancy asks.
func (c *Cluster) Commit(key, value string) error {
	logs := c.push(key)
	if logs == nil {
		return ErrUnavailable
	}
	s := c.shardOf(key)
	if s.Data == nil {
		s.Data = map[string]Write{}
	}
	pending := Pending{Key: key, At: c.Now, Logs: logs}
	if before, there := s.Data[key]; there {
		pending.Before = &before
	}
	s.Data[key] = Write{Value: value, At: c.Now}
	g := c.current()
	g.Pending = append(g.Pending, pending)
	c.still = false
	return nil
}

// Read returns what was committed last, or "" when nothing is known of the key.
func (c *Cluster) Read(key string) (string, error) {
	s := c.shardOf(key)
	if !c.Accepting() || !c.readable(s) {
		return "", ErrUnavailable
	}
	return s.Data[key].Value, nil
}

// push chooses logs for a mutation; nil when it cannot be pushed now.
func (c *Cluster) push(key string) []int {
	if !c.Accepting() {
		return nil
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	logs := c.current().Logs
	first := int(h.Sum32() % uint32(len(logs)))
	var chosen []*Process
	var ids []int
	for i := range logs {
		l := logs[(first+i)%len(logs)]
		chosen, ids = append(chosen, c.Process(l.Process)), append(ids, l.ID)
		if c.Redundancy.pushable(chosen) {
			return ids
		}
	}
	return nil
}

// settleWrites lets writes become durable where their shard can be written.
func (c *Cluster) settleWrites() {
	for _, g := range c.Generations {
		before := len(g.Pending)
		g.Pending = slices.DeleteFunc(g.Pending, func(p Pending) bool {
			return c.Now-p.At >= c.Pace.Durable && c.readable(c.shardOf(p.Key))
		})
		if before > 0 {
			c.changed()
		}
	}
}

// bury forgets what is on no volume any more, and counts writes that were acknowledged.
func (c *Cluster) bury() {
	for _, s := range c.Shards {
		kept := slices.ContainsFunc(s.Copies, func(copy Copy) bool {
			server := c.Server(copy.Server)
			return s.whole(copy) && server != nil && c.kept(server)
		})
		if !kept {
			c.Lost += len(s.Data)
			s.Data = nil
		}
	}
	for _, g := range c.Generations {
		g.Pending = slices.DeleteFunc(g.Pending, func(p Pending) bool {
			if c.pendingKept(p) {
				return false
			}
			s := c.shardOf(p.Key)
			if _, there := s.Data[p.Key]; !there {
				return true
			}
			c.Lost++
			if p.Before == nil {
				delete(s.Data, p.Key)
			} else {
				s.Data[p.Key] = *p.Before
			}
			return true
		})
	}
}

func (c *Cluster) pendingKept(p Pending) bool {
	for _, g := range c.Generations {
		for _, l := range g.Logs {
			if slices.Contains(p.Logs, l.ID) && c.logKept(l) {
				return true
			}
		}
	}
	return false
}
