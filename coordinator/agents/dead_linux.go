package agents

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// deadAfter is how long what was sent to an agent may stay without an acknowledgement. Else the kernel
// would go on sending it for a quarter of an hour, and all that is sent later would wait behind it.
const deadAfter = 20 * time.Second

// giveUp has the kernel end a connection after deadAfter.
func giveUp(_, _ string, socket syscall.RawConn) error {
	var err error
	controlled := socket.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadAfter.Milliseconds()))
	})
	return errors.Join(controlled, err)
}
