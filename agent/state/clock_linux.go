package state

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// SinceBoot reads CLOCK_BOOTTIME, which also counts while the machine is suspended.
func SinceBoot() (BootTime, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return BootTime{}, fmt.Errorf("clock since boot: %w", err)
	}
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return BootTime{}, fmt.Errorf("clock since boot: %w", err)
	}
	return BootTime{strings.TrimSpace(string(id)), time.Duration(t.Nano())}, nil
}
