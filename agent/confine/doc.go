// Package confine starts a program that has all that its starter may reach but for some paths, by
// Landlock, which needs neither capabilities nor another user. The program also reads nothing of
// the starter's process and sends it no signal, where the kernel knows how.
//
// Landlock only ever allows, so everything but the hidden paths is allowed, directory by directory.
// It binds the process that asks for it, so that is not the agent but the agent's own program,
// started again, which then becomes the other program.
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

// Command is the first argument of a program that is started again for this.
const Command = "confine"

// end is between the hidden paths and the program.
const end = "--"

// Prefix is what comes before a program and its arguments to have it started by self, which
// calls Run, with paths hidden.
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

// Try says why a program cannot be confined here.
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
