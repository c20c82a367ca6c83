// Package confine starts a program that may access all that its parent may, except some paths. It
// uses Landlock, which needs neither capabilities nor another user. If the kernel supports it, the
// program also cannot read its parent's process or signal it.
//
// Landlock can only allow, so everything but the hidden paths is allowed, directory by directory.
// It restricts the process that asks for it. So the agent does not ask itself: it starts its own
// program again, which restricts itself and then becomes the other program.
package confine

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Command is the first argument of the program that is started again for this.
const Command = "confine"

// end separates the hidden paths and the program.
const end = "--"

// Prefix returns the arguments to put before a program and its arguments, so that self, which calls
// Run, starts it with the paths hidden.
func Prefix(self string, hidden ...string) []string {
	return append(append([]string{self, Command}, hidden...), end)
}

// Run becomes the program that follows the hidden paths in the arguments after Command. It
// returns only with an error.
func Run(args []string) error {
	at := slices.Index(args, end)
	if at < 0 || at+1 == len(args) {
		return errors.New("requires paths, --, and a program")
	}
	return become(args[:at], args[at+1:])
}

// Try returns why a program cannot be confined here.
func Try(prefix []string, harmless ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	args := append(slices.Clone(prefix), harmless...)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = []string{}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
