// Package process runs real database servers for tests.
package process

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Process is one server, with its output in a file. It does not outlive the test, even if the test
// is killed.
type Process struct {
	cmd   *exec.Cmd
	log   string
	ended chan struct{}
}

// Start starts the command; what it prints goes to the file log.
func Start(t testing.TB, log string, cmd *exec.Cmd) *Process {
	out, err := os.Create(log)
	require.NoError(t, err)
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	require.NoError(t, cmd.Start())
	p := &Process{cmd: cmd, log: log, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait()
	}()
	return p
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Signal sends a signal. It does nothing if the process has ended.
func (p *Process) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Wait waits for the process to end, and kills it after d.
func (p *Process) Wait(d time.Duration) {
	select {
	case <-p.ended:
	case <-time.After(d):
		p.Kill()
	}
}

// Kill ends the process at once. A nil process was never started.
func (p *Process) Kill() {
	if p == nil {
		return
	}
	p.Signal(syscall.SIGKILL)
	<-p.ended
}

// Output returns all that the process has printed.
func (p *Process) Output() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// Tail returns the end of the output, for failure messages.
func (p *Process) Tail() string {
	said := p.Output()
	return said[max(0, len(said)-3000):]
}
