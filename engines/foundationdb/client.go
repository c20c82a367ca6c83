package foundationdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// client runs fdbcli, one process at a time.
//
// Invariants: a run ends within its timeout or its context, with all processes
// that it has started; it costs a bounded number of bytes; nothing but the words
// of fdbcli gets into an error. Exit codes are not looked at: a process that
// could not be run at all says so by the error of its start.
type client struct {
	options Options
	file    *clusterFile

	turn   chan struct{}
	closed chan struct{}
	once   sync.Once

	changes atomic.Int64 // how many commands have ended that may have changed something
}

func newClient(o Options, file *clusterFile) *client {
	return &client{options: o, file: file, turn: make(chan struct{}, 1), closed: make(chan struct{})}
}

// answer is what a command printed.
type answer struct{ stdout, stderr string }

// maxText bounds what a command other than status prints: a line for each process.
const maxText = 1 << 20

// grace is how long fdbcli has beyond its own time limit, which it keeps itself
// when it is well.
const grace = time.Second

// run runs a command that may change something, and returns its words.
func (c *client) run(ctx context.Context, command string) (answer, error) {
	defer c.changes.Add(1)
	return c.ask(ctx, command)
}

// ask runs a command and returns its words.
func (c *client) ask(ctx context.Context, command string) (answer, error) {
	var out bytes.Buffer
	stderr, err := c.start(ctx, command, func(stdout io.Reader) error {
		_, err := io.Copy(&out, &bounded{reader: stdout, left: min(maxText, c.options.MaxBytes)})
		return err
	})
	if err != nil {
		return answer{}, err
	}
	a := answer{stdout: out.String(), stderr: stderr}
	if strings.Contains(a.stderr, timeoutWords) {
		return answer{}, fmt.Errorf("%s: %w", first(command), ErrTimeout)
	}
	return a, nil
}

// timeoutWords are what fdbcli prints when its own time is over.
const timeoutWords = "Specified timeout reached"

// start runs a command; read gets what it prints while it runs. What it prints
// elsewhere is the answer.
func (c *client) start(ctx context.Context, command string, read func(io.Reader) error) (stderr string, err error) {
	select {
	case <-c.closed:
		return "", ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-c.closed:
		return "", ErrClosed
	case <-ctx.Done():
		return "", ctx.Err()
	}
	path, err := c.file.ready()
	if err != nil {
		return "", err
	}
	bound, cancel := context.WithTimeout(ctx, c.options.Timeout+grace)
	defer cancel()
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-c.closed:
			cancel()
		case <-ended:
		}
	}()
	text, err := c.process(bound, path, command, read)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case isClosed(c.closed):
		return "", ErrClosed
	case bound.Err() != nil:
		return "", fmt.Errorf("%s: %w: ended after %s", first(command), ErrTimeout, c.options.Timeout+grace)
	case err != nil && strings.Contains(text, timeoutWords):
		return "", fmt.Errorf("%s: %w", first(command), ErrTimeout)
	case err != nil:
		return "", fmt.Errorf("%s: %w", first(command), err)
	}
	return text, nil
}

func (c *client) process(ctx context.Context, path, command string, read func(io.Reader) error) (string, error) {
	seconds := int(math.Ceil(c.options.Timeout.Seconds()))
	program := append(append(slices.Clone(c.options.Before), c.program()...), "-C", path, "--exec", command, "--timeout", strconv.Itoa(seconds))
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Env = c.environment()
	cmd.Dir = c.file.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return endGroup(cmd.Process.Pid) }
	cmd.WaitDelay = grace
	stderr := &head{most: maxText}
	cmd.Stderr = stderr
	stdout, writer, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer stdout.Close()
	cmd.Stdout = writer
	err = cmd.Start()
	writer.Close()
	if err != nil {
		return "", fmt.Errorf("start fdbcli: %w", err)
	}
	// A process that left the group could keep the pipe open for ever.
	stop := context.AfterFunc(ctx, func() { stdout.Close() })
	defer stop()
	if err = read(stdout); err != nil {
		_ = endGroup(cmd.Process.Pid) // nobody reads what it still prints
	}
	// It has closed what it prints to; then it has a moment to end by itself.
	late := time.AfterFunc(grace, func() { _ = endGroup(cmd.Process.Pid) })
	_ = cmd.Wait() // exit codes say little: 0 also where nothing was done
	late.Stop()
	return stderr.String(), err
}

// program is how fdbcli is started. The agent's image has no libraries; those that
// lie beside fdbcli, in lib, come with the loader that finds them there.
func (c *client) program() []string {
	if !filepath.IsAbs(c.options.Client) {
		return []string{c.options.Client}
	}
	lib := filepath.Join(filepath.Dir(c.options.Client), "lib")
	loader := filepath.Join(lib, "ld.so")
	if _, err := os.Stat(loader); err != nil {
		return []string{c.options.Client}
	}
	return []string{loader, "--library-path", lib, c.options.Client}
}

// endGroup ends a process and all that it has started.
func endGroup(pid int) error {
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// environment is what fdbcli needs of ours, and where its certificates are.
func (c *client) environment() []string {
	var env []string
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	if t := c.options.TLS; t.Enabled {
		env = append(env, "FDB_TLS_CERTIFICATE_FILE="+t.Certificate, "FDB_TLS_KEY_FILE="+t.Key)
		if t.CA != "" {
			env = append(env, "FDB_TLS_CA_FILE="+c.file.authorities())
		}
		if t.InsecureSkipVerify {
			env = append(env, "FDB_TLS_VERIFY_PEERS=Check.Valid=0")
		}
	}
	return env
}

func (c *client) close() { c.once.Do(func() { close(c.closed) }) }

func isClosed(closed <-chan struct{}) bool {
	select {
	case <-closed:
		return true
	default:
		return false
	}
}

// first is the command itself, without what it is about.
func first(command string) string {
	word, _, _ := strings.Cut(command, " ")
	return engines.OneLine(word)
}

// bounded reads so many bytes and then fails, where io.LimitReader would look
// like the end.
type bounded struct {
	reader io.Reader
	left   int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		engines.CountTooLarge()
		return 0, ErrTooMuch
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.reader.Read(p)
	b.left -= int64(n)
	return n, err
}

// head keeps the beginning of what is written to it.
type head struct {
	most int
	mu   sync.Mutex
	kept []byte
}

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = append(h.kept, p[:min(len(p), h.most-len(h.kept))]...)
	return len(p), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.kept)
}
