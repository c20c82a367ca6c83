package effect

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Target is a pod's agent, or the pod itself.
type Target struct{ Pod, UID string }

// Order is what an agent is told about a drain.
type Order struct {
	Claim   string
	Epoch   int64
	Prepare model.Prepare
	// Eligible are the pods that may take over duties; empty means any.
	Eligible []string
	// Setting is the cluster setting that may be written, with the value that it had before
	// anybody wrote it. Without it the agent leaves the setting alone.
	Setting ClusterSetting
	// NotAfter is the time past which the agent starts no write. Whoever sends the order sets it.
	NotAfter time.Time
	// For is the pod that is evacuated by another pod's agent, because none runs in it.
	// Zero: the pod of the agent that is asked.
	For Subject
	// Anew is true if the agent looks again at what it drained before, and its answer is true of
	// the database after this order. Otherwise the answer may be that of before.
	Anew bool
}

// Subject is a pod and the name that the database has for its member.
type Subject struct{ UID, Node string }

// ClusterSetting is a cluster setting that a claim's drain will write.
type ClusterSetting struct {
	// Name names it, in the engine's words. It is empty if there is none.
	Name string
	// Undo is with what any agent can put it back.
	Undo []byte
}

// Progress is how far a drain is.
type Progress struct {
	State  model.DrainState
	Detail string
}

// How long orders may take.
const (
	// CallTimeout bounds one request to an agent.
	CallTimeout = 10 * time.Second
	// WriteAhead is how long after an order its agent may still start a write.
	WriteAhead = 30 * time.Second
)
