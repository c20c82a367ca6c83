package engines

import (
	"context"
	"errors"
	"time"
)

// Sharer is an Engine some of whose prepares change a setting of the whole
// database, which the prepares of several members have in common. Its value from
// before the first of them is kept by the coordinator and put back after the last.
type Sharer interface {
	Engine

	// Shared names the setting that Apply will change for an order that names it,
	// and answers with what it can be put back as it is now; it changes nothing. An
	// empty Knob: Apply of this order changes none.
	Shared(ctx context.Context, order Order) (Shared, error)

	// RestoreShared puts the setting back, unless somebody else has given it another
	// value since. It may be repeated at any time, by any agent, and starts no write
	// past notAfter.
	RestoreShared(ctx context.Context, shared Shared, notAfter time.Time) (Progress, error)
}

// Shared is a setting of the whole database.
type Shared struct {
	// Knob names it, in the words of the adapter.
	Knob string
	// Undo is with what it can be put back, at most MaxUndo bytes.
	Undo []byte
}

// ErrShared: the setting is not the adapter's, or cannot be put back so.
var ErrShared = errors.New("shared setting is not valid")

// MaxKnob bounds the name of a setting.
const MaxKnob = 256
