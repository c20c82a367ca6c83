package state

import "time"

// bootTime is a time by the clock that counts from the boot of the machine. It
// goes on when processes restart, and nobody sets it.
type BootTime struct {
	Boot  string        `json:"boot"` // the ID of this boot
	Since time.Duration `json:"since"`
}

// clock reads the time since boot.
type Clock func() (BootTime, error)

// at converts a time of this process.
func (c Clock) At(t time.Time) (*BootTime, error) {
	now, err := c()
	if err != nil {
		return nil, err
	}
	return &BootTime{now.Boot, now.Since + time.Until(t)}, nil
}

// time converts back to a time of this process. A time that is not known, or is
// of another boot, is now: it is over.
func (c Clock) Time(t *BootTime) time.Time {
	now, err := c()
	if t == nil || err != nil || now.Boot != t.Boot {
		return time.Now()
	}
	return time.Now().Add(t.Since - now.Since)
}
