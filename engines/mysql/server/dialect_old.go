package server

import (
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// newWords is the first version of MySQL that knows all words of the newest one: SHOW REPLICA
// STATUS came with 8.0.22, CHANGE REPLICATION SOURCE with 8.0.23.
var newWords = engines.Version{Major: 8, Minor: 0, Patch: 23}

// oldMySQL says what the dialect of MySQL says in the words that 8.0 had before. They are gone from
// 8.4 on. The list of processes is where MySQL 5 had it.
var oldMySQL = func() *dialect {
	words := strings.NewReplacer(
		"CHANGE REPLICATION SOURCE TO", "CHANGE MASTER TO", "SOURCE_", "MASTER_", "REPLICA", "SLAVE",
		"performance_schema.processlist", "information_schema.PROCESSLIST",
	)
	d := *dialects[replication.MySQL]
	d.source, d.replicas = []string{`SHOW SLAVE STATUS`}, []string{`SHOW SLAVE HOSTS`}
	for _, s := range []*string{
		&d.running, &d.open, &d.clients, &d.stop, &d.start, &d.forget,
		&d.change.statement, &d.change.prefix, &d.change.tls, &d.change.last, &d.change.always,
	} {
		*s = words.Replace(*s)
	}
	d.restartIO = []string{`STOP SLAVE IO_THREAD`, `START SLAVE IO_THREAD`}
	return &d
}()

// dialectOf a version. One that is newer than those that were seen speaks like the newest of them.
func dialectOf(v replication.Version) *dialect {
	if v.Flavor == replication.MySQL && v.Compare(newWords) < 0 {
		return oldMySQL
	}
	return dialects[v.Flavor]
}
