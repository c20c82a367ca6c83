package model

// Engine is a kind of database. Decisions depend on its facts, never on its name.
type Engine string

// The engines.
const (
	Solr         Engine = "Solr"
	OpenSearch   Engine = "OpenSearch"
	MySQL        Engine = "MySQL"
	MariaDB      Engine = "MariaDB"
	FoundationDB Engine = "FoundationDB"
	Galera       Engine = "Galera"
	ZooKeeper    Engine = "ZooKeeper"
)

// Engines returns all engines.
func Engines() []Engine {
	return []Engine{Solr, OpenSearch, MySQL, MariaDB, FoundationDB, Galera, ZooKeeper}
}

// EngineFacts are facts of the adapter.
type EngineFacts struct {
	// SettleSeconds is how long the database may take to notice that a pod went away.
	SettleSeconds float64 `json:"settleSeconds"`
	// MinSourceVersion is the oldest version from which the new one can be reached; empty = any.
	MinSourceVersion string `json:"minSourceVersion"`
	// MaxMajorStep is how many major versions one update may climb; 0 = none. Default: 1.
	MaxMajorStep int `json:"maxMajorStep"`
	// SameMinor: members of versions that differ in the major or minor number do not
	// talk to each other, so that only a restart of all at once leads to another.
	SameMinor bool `json:"sameMinor"`
	// ByZone: copies are spread over zones and nothing smaller, so the pods of a zone cost as
	// much together as one of them. They go together unless the spec says otherwise.
	// Default: true for FoundationDB, else false.
	ByZone bool `json:"byZone,omitempty"`
	// OneAtATime: one pod at a time may be unavailable, however many there are, unless the spec says
	// otherwise. Default: true for OpenSearch, Galera and ZooKeeper, else false.
	OneAtATime bool `json:"oneAtATime,omitempty"`
	// OldestLeads: a copy cannot follow a leader of a newer version, so while versions differ, duties
	// go to pods of the oldest one. Default: true for Solr, else false.
	OldestLeads bool `json:"oldestLeads,omitempty"`
	// DataRoles are the roles of pods that keep the database's data, where roles tell.
	// Default: storage and general for FoundationDB, else none.
	DataRoles []string `json:"dataRoles,omitempty"`
}

// fillIn adds the facts that older snapshots do not have, in which they followed from the
// name of the engine. Newer ones have them from the adapter.
func (f *EngineFacts) fillIn(engine Engine) {
	f.OneAtATime = f.OneAtATime || engine == OpenSearch || engine == Galera || engine == ZooKeeper
	f.ByZone = f.ByZone || engine == FoundationDB
	if f.DataRoles == nil && (engine == FoundationDB || engine == "") { // one that is not named may be any
		f.DataRoles = []string{"storage", "general"}
	}
}
