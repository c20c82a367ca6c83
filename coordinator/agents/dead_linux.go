package agents

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// deadAfter is how long what was sent to an agent may stay without an acknowledgement. Otherwise
// the kernel would retry for a quarter of an hour, and everything sent later would wait behind it.
const deadAfter = 20 * time.Second

// giveUp makes the kernel end a connection after deadAfter.
func giveUp(_, _ string, socket syscall.RawConn) error {
	var err error
	controlled := socket.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadAfter.Milliseconds()))
	})
	return errors.Join(controlled, err)
}
