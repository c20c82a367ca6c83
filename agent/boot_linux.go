package agent

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// bootClock reads the machine's clock, which counts while the machine sleeps, too.
func bootClock() (bootTime, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return bootTime{}, fmt.Errorf("clock since boot: %w", err)
	}
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return bootTime{}, fmt.Errorf("clock since boot: %w", err)
	}
	return bootTime{strings.TrimSpace(string(id)), time.Duration(t.Nano())}, nil
}
