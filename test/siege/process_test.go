package siege

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is one that runs alone in a control group with a memory limit.
type process struct {
	group   *group
	limit   int64
	command *exec.Cmd
	ended   chan struct{}
	how     error // of the end, once ended is closed
	log     *tail
}

var groups atomic.Int64

func groupName() string { return fmt.Sprintf("rollcall-siege-%d-%d", os.Getpid(), groups.Add(1)) }

// startLimited starts a program, which ends with the test.
func startLimited(t *testing.T, limit int64, env []string, argv ...string) *process {
	t.Helper()
	g, err := makeGroup(groupName(), limit)
	require.NoError(t, err)
	p := &process{group: g, limit: limit, ended: make(chan struct{}), log: &tail{}}
	argv = g.enter(argv...)
	p.command = exec.Command(argv[0], argv[1:]...)
	p.command.Env, p.command.Stderr = env, p.log // a pipe: a file would be memory of the group
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.command.Start(); err != nil {
		_ = g.remove()
		t.Fatal(err)
	}
	go func() {
		p.how = p.command.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() { p.stop(t) })
	return p
}

// alive reports whether the process that was started runs.
func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *process) stop(t *testing.T) {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		t.Errorf("the process does not end within 30 s")
		_ = p.command.Process.Kill()
		<-p.ended
	}
	if err := p.group.remove(); err != nil {
		t.Errorf("the control group cannot be removed: %v", err)
	}
	if t.Failed() {
		t.Logf("its log:\n%s", p.log)
	}
}

// tail keeps the beginning of what is written, and the end.
type tail struct {
	mu         sync.Mutex
	head, last []byte
	lines      int
}

func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines += bytes.Count(p, []byte("\n"))
	if len(l.head) < 1<<10 {
		l.head = append(l.head, p...)
	} else if l.last = append(l.last, p...); len(l.last) > 2<<10 {
		l.last = l.last[len(l.last)-1<<10:]
	}
	return len(p), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("%.1000s\n...\n%s", l.head, l.last)
}
