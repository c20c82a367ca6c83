package state

import "time"

// BootTime is a time on the clock that counts from the boot of the machine. It
// continues across restarts of processes, and nobody sets it.
type BootTime struct {
	Boot  string        `json:"boot"` // the ID of this boot
	Since time.Duration `json:"since"`
}

// Clock reads the time since boot.
type Clock func() (BootTime, error)

// At converts a time of this process.
func (c Clock) At(t time.Time) (*BootTime, error) {
	now, err := c()
	if err != nil {
		return nil, err
	}
	return &BootTime{now.Boot, now.Since + time.Until(t)}, nil
}

// Time converts back to a time of this process. If the time is unknown or belongs to
// another boot, it is now: whatever it bounds is over.
func (c Clock) Time(t *BootTime) time.Time {
	now, err := c()
	if t == nil || err != nil || now.Boot != t.Boot {
		return time.Now()
	}
	return time.Now().Add(t.Since - now.Since)
}
