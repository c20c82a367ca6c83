//go:build !linux

package agent

import "errors"

// bootClock is for Linux only, on which agents run.
func bootClock() (bootTime, error) { return bootTime{}, errors.New("clock since boot: not known here") }
