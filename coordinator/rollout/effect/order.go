package effect

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Target is a pod's agent, or the pod itself.
type Target struct{ Pod, UID string }

// Order is what an agent is asked to do in a drain.
type Order struct {
	Claim   string
	Epoch   int64
	Prepare model.Prepare
	// Primary is what the pod's member does if it is the primary. Empty leaves it to the topology.
	Primary model.Primary
	// Eligible are the pods that may take over duties. Empty means any.
	Eligible []string
	// Setting is the cluster setting that may be written, with the value that it had before anybody
	// wrote it. Without it the agent does not change the setting.
	Setting ClusterSetting
	// NotAfter is the time after which the agent starts no write. The sender of the order sets it.
	NotAfter time.Time
	// For is the pod that another pod's agent evacuates because no agent runs in it. It is zero if
	// the agent works on its own pod.
	For Subject
	// Anew is true if the agent must check again what it drained before, so that its answer is true
	// of the database after this order. Otherwise it may repeat an earlier answer.
	Anew bool
	// KeepWrites is true if the agent begins nothing that stops the writes of clients.
	KeepWrites bool
}

// Subject is a pod and the name that the database has for its member.
type Subject struct{ UID, Node string }

// ClusterSetting is a cluster setting that a claim's drain will write.
type ClusterSetting struct {
	// Name is the setting's name in the engine's terms. It is empty if there is no setting.
	Name string
	// Undo is what any agent needs to restore it.
	Undo []byte
}

// Progress is how far a drain has come.
type Progress struct {
	State  model.DrainState
	Detail string
	Writes Writes
}

// Writes says what a drain may do to the writes of clients before an order without KeepWrites.
type Writes uint8

const (
	// WritesUntold means that the agent does not know KeepWrites.
	WritesUntold Writes = iota
	// WritesMayStop means that they may stop at any time, or have stopped.
	WritesMayStop
	// WritesKept means that they go on, whatever the agent waits for.
	WritesKept
	// WritesReady means that they go on, and that the agent waits for nothing else.
	WritesReady
)

// Limits on how long orders may take.
const (
	// CallTimeout bounds one request to an agent.
	CallTimeout = 10 * time.Second
	// WriteAhead is how long after an order its agent may still start a write.
	WriteAhead = 30 * time.Second
)
