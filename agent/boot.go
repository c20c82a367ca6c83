package agent

import "time"

// bootTime is a time by the clock that the machine has run since it was started:
// it goes on through restarts of processes, and nobody sets it.
type bootTime struct {
	Boot  string        `json:"boot"` // which start of the machine
	Since time.Duration `json:"since"`
}

// atBoot is a time of this process by the machine's clock; nil when that cannot
// be told.
func (d *drainer) atBoot(t time.Time) *bootTime {
	now, err := d.boot()
	if err != nil {
		d.logger.Warn("a restarted agent will take the time of this order for over", "error", err)
		return nil
	}
	return &bootTime{now.Boot, now.Since + time.Until(t)}
}

// sinceBoot is the reverse, by this process's clock. What is not known, or of
// another start of the machine, is over.
func (d *drainer) sinceBoot(t *bootTime) time.Time {
	now, err := d.boot()
	if t == nil || err != nil || now.Boot != t.Boot {
		return time.Now()
	}
	return time.Now().Add(t.Since - now.Since)
}
