//go:build !linux

package state

import "errors"

// SinceBoot is for Linux only, on which agents run.
func SinceBoot() (BootTime, error) { return BootTime{}, errors.New("clock since boot: not known here") }
