package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a program that was started here.
type process struct {
	name    string
	command *exec.Cmd
	ended   chan struct{}
	metrics string // address
}

// start runs a program until it is stopped, with its output in a file.
func start(dir, name, program string, env []string, args ...string) (*process, error) {
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{name: name, command: exec.Command(program, args...), ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = log, log
	p.command.Env = append(os.Environ(), env...)
	// A terminal's interrupt is for this program, which ends the others in order.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.command.Wait() // how it ended is in its log
		close(p.ended)
	}()
	return p, nil
}

// signal sends a signal and waits until the process has ended.
func (p *process) signal(s syscall.Signal) {
	if p == nil {
		return
	}
	_ = p.command.Process.Signal(s) // one that has ended already has ended
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

// usage is what a process takes.
type usage struct {
	at       time.Time
	resident int // KiB
	peak     int // KiB
	threads  int
	cpu      time.Duration
}

func (p *process) usage() (usage, error) {
	u := usage{at: time.Now()}
	dir := filepath.Join("/proc", strconv.Itoa(p.command.Process.Pid))
	text, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return u, err
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		field := strings.Fields(line)
		if len(field) < 2 {
			continue
		}
		n, _ := strconv.Atoi(field[1])
		switch field[0] {
		case "VmRSS:":
			u.resident = n
		case "VmHWM:":
			u.peak = n
		case "Threads:":
			u.threads = n
		}
	}
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return u, err
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	field := strings.Fields(after)
	ticks := 0
	for _, at := range []int{11, 12} { // user and system time
		n, err := strconv.Atoi(field[at])
		if err != nil {
			return u, fmt.Errorf("/proc/…/stat: %w", err)
		}
		ticks += n
	}
	u.cpu = time.Duration(ticks) * time.Second / 100
	return u, nil
}

// forgetPeak lets the peak begin again.
func (p *process) forgetPeak() error {
	return os.WriteFile(filepath.Join("/proc", strconv.Itoa(p.command.Process.Pid), "clear_refs"), []byte("5"), 0)
}

// metric is the sum of a metric's values; labels, if any, must be in the line.
func (p *process) metric(ctx context.Context, name, labels string) (sum float64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.metrics+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '{' || !strings.Contains(rest, labels) {
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s: %w", name, err)
		}
		sum += value
	}
	return sum, nil
}

func mib(kib int) string { return fmt.Sprintf("%.1f MiB", float64(kib)/1024) }

// spent tells of two moments what the time between them took.
func spent(from, to usage) string {
	wall := to.at.Sub(from.at)
	return fmt.Sprintf("%.2f %% of a core", 100*to.cpu.Seconds()/wall.Seconds()-100*from.cpu.Seconds()/wall.Seconds())
}
