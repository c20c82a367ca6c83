package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Tool is a program of the operating system, with the Debian package that brings it.
type Tool struct{ Program, Package string }

// ClusterTools are needed to run a cluster.
var ClusterTools = []Tool{
	{"runc", "runc"}, {"iptables", "iptables"}, {"ip", "iproute2"}, {"conntrack", "conntrack"},
	{"nsenter", "util-linux"}, {"mount", "mount"},
}

// DebianTools are needed to build images of Debian packages alone.
var DebianTools = []Tool{{"mmdebstrap", "mmdebstrap"}}

// ImageTools are needed to build the images of databases that are written in Java.
var ImageTools = append([]Tool{{"mvn", "maven"}}, DebianTools...)

// OpenSearchTools are needed to build OpenSearch's image: a small library of it is in C.
var OpenSearchTools = append([]Tool{{"cc", "gcc"}, {"cc", "libc6-dev"}}, ImageTools...)

// ErrMissing is returned when tools are missing and may not be installed here.
var ErrMissing = errors.New("missing packages")

// Require makes sure that the tools exist: it installs missing ones if it may (root on Debian or
// Ubuntu), and else names them.
func Require(ctx context.Context, tools []Tool, say func(string, ...any)) error {
	missing := absent(tools, exec.LookPath)
	if len(missing) == 0 {
		return nil
	}
	list := strings.Join(missing, " ")
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("%w: install these Debian packages, or what brings the same programs: %s", ErrMissing, list)
	}
	say("installing Debian packages: %s", list)
	install := func() ([]byte, error) {
		args := append([]string{"install", "-y", "--no-install-recommends"}, missing...)
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		return cmd.CombinedOutput()
	}
	out, err := install()
	if err != nil { // the package lists may be missing or old
		if out, err := exec.CommandContext(ctx, "apt-get", "update").CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get update: %w: %s", err, lastLine(out))
		}
		out, err = install()
	}
	if err != nil {
		return fmt.Errorf("apt-get install %s: %w: %s", list, err, lastLine(out))
	}
	if missing = absent(tools, exec.LookPath); len(missing) > 0 {
		return fmt.Errorf("%w after their installation: %s", ErrMissing, strings.Join(missing, " "))
	}
	return nil
}

func absent(tools []Tool, look func(string) (string, error)) []string {
	var missing []string
	for _, t := range tools {
		if _, err := look(t.Program); err != nil {
			missing = append(missing, t.Package)
		}
	}
	return missing
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
