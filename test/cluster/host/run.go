package host

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Run runs a program to its end and returns what it printed; an error holds the command and its last line.
func Run(ctx context.Context, argv ...string) (string, error) {
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, lastLine(out))
	}
	return string(out), nil
}
