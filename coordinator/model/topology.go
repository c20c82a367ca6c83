package model

// Topology is how the members of a database share the role of primary. Empty means that the engine
// has no primary in this sense, or that an earlier version wrote the snapshot: nothing depends on
// it then.
// +kubebuilder:validation:Enum=Unknown;Switchable;FixedPrimary;Galera;GroupReplication;SingleServer
type Topology string

// The topologies.
const (
	// TopologyUnknown means that the agents do not know, or do not agree. No primary goes.
	TopologyUnknown Topology = "Unknown"
	// TopologySwitchable means that one primary takes writes, and hands its role to a replica.
	TopologySwitchable Topology = "Switchable"
	// TopologyFixedPrimary means that one primary takes writes, and no other member ever does.
	TopologyFixedPrimary Topology = "FixedPrimary"
	// TopologyGalera means that every member of a Galera cluster takes writes.
	TopologyGalera Topology = "Galera"
	// TopologyGroupReplication means that the members elect the primary themselves.
	TopologyGroupReplication Topology = "GroupReplication"
	// TopologySingleServer means that there is one member.
	TopologySingleServer Topology = "SingleServer"
)

// Topologies returns all topologies.
func Topologies() []Topology {
	return []Topology{TopologyUnknown, TopologySwitchable, TopologyFixedPrimary, TopologyGalera, TopologyGroupReplication, TopologySingleServer}
}

// Primary says what the primary does before its pod goes.
// +kubebuilder:validation:Enum=Switchover;RestartInPlace;Hold
type Primary string

// What a primary does.
const (
	// PrimarySwitchover hands the role to another member.
	PrimarySwitchover Primary = "Switchover"
	// PrimaryRestartInPlace keeps the role: nobody takes writes until the primary is back.
	PrimaryRestartInPlace Primary = "RestartInPlace"
	// PrimaryHold waits for a person.
	PrimaryHold Primary = "Hold"
)

// defaultPrimary returns what a primary does if the spec does not say it. Empty means that there is
// none, or that it is not known.
func (t Topology) defaultPrimary() Primary {
	switch t {
	case TopologySwitchable, TopologyGroupReplication:
		return PrimarySwitchover
	case TopologyFixedPrimary, TopologySingleServer:
		return PrimaryRestartInPlace
	}
	return ""
}

// AdoptsInPlace reports whether pods without an agent need no handover: the spec says that the
// primary restarts in place, and no agent says that another one may lead.
func (c *Cluster) AdoptsInPlace() bool {
	switch c.Topology {
	case TopologyFixedPrimary, TopologySingleServer, TopologyUnknown:
		return c.Spec.Update.Primary == PrimaryRestartInPlace
	}
	return false
}
