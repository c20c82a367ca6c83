package process

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLife(t *testing.T) {
	sleeper := func() *Process {
		return Start(t, filepath.Join(t.TempDir(), "log"), exec.Command("/bin/sh", "-c", "echo started; exec sleep 60"))
	}
	p := sleeper()
	require.Eventually(t, func() bool { return p.Tail() == "started\n" }, time.Minute, time.Millisecond)
	p.Signal(syscall.SIGTERM)
	<-p.Ended()
	p.Wait(time.Minute)
	p.Kill()
	p.Signal(syscall.SIGTERM)

	p = sleeper()
	p.Wait(time.Millisecond)
	select {
	case <-p.Ended():
	default:
		t.Fatal("who does not end by himself is killed")
	}
	(*Process)(nil).Kill()
}
