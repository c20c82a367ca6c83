package database

import "github.com/rollcall-dev/rollcall/engines"

// Vote makes the members in some pods the voters of a quorum: more than half of
// them must be there. The first leads.
func (d *Database) Vote(pods ...string) {
	d.AddShard("voters", pods...)
	d.shards[len(d.shards)-1].least = len(pods)/2 + 1
}

// kind of a group, and how many of it must stay; 0: policy says that.
func (s *shard) kind() engines.GroupKind {
	if s.least > 0 {
		return engines.GroupQuorum
	}
	return engines.GroupShard
}
