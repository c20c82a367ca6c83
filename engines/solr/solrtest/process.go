package solrtest

import (
	"os"
	"os/exec"
	"path/filepath"
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

func (c *Cluster) java(name, version string, args ...string) *process {
	log := filepath.Join(c.dir, name+".log")
	out, err := os.Create(log)
	require.NoError(c.t, err)
	defer out.Close()
	classes := filepath.Join(c.home, "classes") + ":" + filepath.Join(c.home, "etc") + ":" + filepath.Join(c.home, "lib-"+version) + "/*"
	base := []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classes}
	cmd := exec.Command("java", append(base, args...)...)
	cmd.Stdout, cmd.Stderr = out, out
	// Nothing of ours outlives the test, even one that is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(c.t, cmd.Start())
	p := &process{cmd: cmd, log: log, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait()
	}()
	return p
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
