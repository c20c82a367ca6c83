package effect

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Result is the outcome of an effect. Each effect has its own type of result.
type Result interface {
	result()
}

// DrainPlanned is the result of PlanDrain.
type DrainPlanned struct {
	Claim   string
	Undo    []byte
	Setting ClusterSetting
	Err     error
}

// DrainAnswered is the result of Drain.
type DrainAnswered struct {
	Claim string
	// Began is when the order was sent, Order what was sent.
	Began    time.Time
	Order    Order
	Progress Progress
	Err      error
}

// HandedOff is the result of HandoffOnBehalf.
type HandedOff struct {
	Claim string
	Began time.Time
	// By is who handed over.
	By       string
	Progress Progress
	Err      error
}

// Observed is the result of Observe.
type Observed struct {
	Claim string
	// Missing says who has not reported. It is empty if all have.
	Missing string
	// Confirmed is the order to confirm the drain as it was sent. It is nil if none was sent.
	Confirmed *Order
	Progress  Progress
	Err       error
}

// GuardOpened is the result of OpenGuard.
type GuardOpened struct {
	Claim string
	Pod   PodSeen
	Err   error
	// Unanswered is true if there was no answer, so the write may still be carried out. It means
	// the same in other results.
	Unanswered bool
}

// Evicted is the result of Evict.
type Evicted struct {
	Claim string
	// Moved is the StatefulSet after its partition was moved. It is nil if the partition was not
	// moved. It means the same in other results.
	Moved      *SetSeen
	Err        error
	Unanswered bool
}

// GuardClosed is the result of CloseGuard.
type GuardClosed struct {
	Claim string
	Pod   PodSeen
	Moved *SetSeen
	Err   error
}

// Restored is the result of Restore.
type Restored struct {
	Claim string
	// Answered is true if an agent has answered, and Done if it has undone everything.
	Answered, Done bool
	// Err is why nobody has answered.
	Err error
	// Nobody is true if the API server has no pod with an agent.
	Nobody bool
}

// GoneConfirmed is the result of ConfirmGone.
type GoneConfirmed struct {
	Claim string
	Gone  bool
	// Why is why the pod is not shown although it exists.
	Why string
	Err error
}

// SetFound is the result of FindSet. Why is empty if the StatefulSet and its pods are gone.
type SetFound struct {
	Claim string
	Why   string
	Err   error
}

// VolumesFound is the result of FindVolumes.
type VolumesFound struct {
	Claim   string
	Volumes []model.VolumeClaim
	Err     error
}

// VolumesDeleted is the result of DeleteVolumes.
type VolumesDeleted struct {
	Claim      string
	PodGone    bool
	Err        error
	Unanswered bool
}

// VolumesAwaited is the result of AwaitVolumes.
type VolumesAwaited struct {
	Claim     string
	Successor PodSeen
	// Inherited is true if the recreated pod keeps a claimed volume from being deleted.
	Inherited bool
	// Missing is what is still awaited. It is empty if all volumes are new.
	Missing string
	Err     error
}

// PartitionMoved is the result of MovePartition.
type PartitionMoved struct {
	Pool  string
	Moved *SetSeen
	Err   error
}

// SettingRestored is the result of RestoreSetting.
type SettingRestored struct {
	Name string
	// Ended is when the last agent was asked.
	Ended time.Time
	Done  bool
	Err   error
}

// PendingRestored is the result of RestorePending.
type PendingRestored struct {
	Pending model.PendingRestore
	Done    bool
	Err     error
}

// DeletedByForce is the result of DeleteByForce.
type DeletedByForce struct {
	Pod  Target
	Node string
	Err  error
}

// RolesLabelled is the result of LabelRoles.
type RolesLabelled struct {
	Primary Target
	// Pods are the pods that the API server has shown, as they are after the last write.
	Pods []PodSeen
	// Fenced is true if no earlier write can label a pod as the primary any more.
	Fenced bool
	Err    error
	// Unanswered is true if the primary may still be labelled as the primary later.
	Unanswered bool
}

func (DrainPlanned) result() {}

func (DrainAnswered) result() {}

func (HandedOff) result() {}

func (Observed) result() {}

func (GuardOpened) result() {}

func (Evicted) result() {}

func (GuardClosed) result() {}

func (Restored) result() {}

func (GoneConfirmed) result() {}

func (SetFound) result() {}

func (VolumesFound) result() {}

func (VolumesDeleted) result() {}

func (VolumesAwaited) result() {}

func (PartitionMoved) result() {}

func (SettingRestored) result() {}

func (PendingRestored) result() {}

func (DeletedByForce) result() {}

func (RolesLabelled) result() {}
