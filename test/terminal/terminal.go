//go:build linux

// Package terminal runs programs on a terminal, so that they do what they do
// when a person looks on.
package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Run runs a command whose output is a terminal of so many columns and rows, and returns all that
// was written to it, with \n at the ends of lines.
func Run(cmd *exec.Cmd, columns, rows uint16) (string, error) {
	var out strings.Builder
	err := Show(cmd, columns, rows, &out)
	return strings.ReplaceAll(out.String(), "\r\n", "\n"), err
}

// Show is Run that copies the output to w while the command runs.
func Show(cmd *exec.Cmd, columns, rows uint16, w io.Writer) error {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return fmt.Errorf("a terminal: %w", err)
	}
	defer func() { _ = master.Close() }()
	slave, err := other(master, columns, rows)
	if err != nil {
		return fmt.Errorf("a terminal: %w", err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	if err := cmd.Start(); err != nil {
		_ = slave.Close()
		return fmt.Errorf("on a terminal: %w", err)
	}
	_ = slave.Close()
	// Reading a terminal fails when its other end is closed.
	if _, err := io.Copy(w, master); err != nil && !errors.Is(err, syscall.EIO) {
		return fmt.Errorf("on a terminal: %w", err)
	}
	return cmd.Wait()
}

// other is the end that a program gets.
func other(master *os.File, columns, rows uint16) (*os.File, error) {
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, fmt.Errorf("unlock: %w", err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, fmt.Errorf("number: %w", err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}); err != nil {
		return nil, fmt.Errorf("size: %w", err)
	}
	return os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
}
