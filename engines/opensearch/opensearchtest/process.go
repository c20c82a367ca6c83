package opensearchtest

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
)

// process is one JVM, with its output in a file.
type process struct {
	cmd   *exec.Cmd
	log   string
	ended chan struct{}
}

func (c *Cluster) run(log, dir, java string, env, args []string) *process {
	out, err := os.Create(log)
	require.NoError(c.t, err)
	defer out.Close()
	cmd := exec.Command(java, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = attributes(os.Geteuid())
	require.NoError(c.t, cmd.Start())
	p := &process{cmd: cmd, log: log, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait()
	}()
	return p
}

// attributes see to it that nothing of ours outlives the test, even one that is
// killed. OpenSearch refuses to run as root: it runs in a user namespace where
// root has another number, so that files are as readable as before.
func attributes(uid int) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if uid == 0 {
		a.Cloneflags = syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 1000, HostID: 0, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getegid(), Size: 1}}
	}
	return a
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

func (p *process) wait(d time.Duration) {
	select {
	case <-p.ended:
	case <-time.After(d):
		p.kill()
	}
}

func (p *process) kill() {
	if p == nil {
		return
	}
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// tail is the end of the output, for failure messages.
func (p *process) tail() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-3000):])
}
