package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
)

// options are the options of a call.
type options struct {
	clusterFile string
	exec        *string
	timeout     time.Duration
	version     bool
	help        bool
}

// arguments are the options that fdbcli knows, and whether each has a value.
func arguments(v model.Version) map[string]bool {
	known := map[string]bool{
		"-C": true, "--cluster_file": true, "-d": true, "--log": false, "--log-dir": true, "--timeout": true, "--exec": true, "--no-status": false,
		"-?": false, "-h": false, "--help": false, "--status-from-json": true, "--version": false, "-v": false, "--trace_format": true,
		"--tls_certificate_file": true, "--tls_ca_file": true, "--tls_key_file": true, "--tls_password": true, "--tls_verify_peers": true,
	}
	if v.AtLeast(7, 0, 0) {
		for _, name := range []string{"--log-group", "--logdir", "--api-version", "--memory"} {
			known[name] = true
		}
		for _, name := range []string{"--no-hints", "--no-history", "--build-flags", "--debug-tls", "--tls-disable-plaintext-connection"} {
			known[name] = false
		}
	}
	return known
}

// lookUp finds an option. From 7.x on, hyphens and underscores within a name are the same.
func lookUp(known map[string]bool, name string, v model.Version) (option string, value, ok bool) {
	if value, ok := known[name]; ok {
		return name, value, true
	}
	if v.AtLeast(7, 0, 0) && strings.HasPrefix(name, "--") {
		same := func(s string) string { return strings.ReplaceAll(s[2:], "-", "_") }
		for option, value := range known {
			if strings.HasPrefix(option, "--") && same(option) == same(name) {
				return option, value, true
			}
		}
		if strings.HasPrefix(name, "--knob-") || strings.HasPrefix(name, "--knob_") {
			return name, true, true
		}
	}
	return "", false, false
}

// parse reads the arguments. When they are wrong, it says so as fdbcli does, and ok is false.
func parse(args []string, v model.Version, stdout, stderr io.Writer) (o options, ok bool) {
	known := arguments(v)
	for len(args) > 0 {
		name, inline, joined := strings.Cut(args[0], "=")
		if !strings.HasPrefix(name, "--") {
			name, joined = args[0], false
		}
		args = args[1:]
		option, hasValue, found := lookUp(known, name, v)
		value := inline
		if found && hasValue && !joined {
			if len(args) == 0 {
				found = false
			} else {
				value, args = args[0], args[1:]
			}
		}
		if !found || joined && !hasValue {
			usage(stdout, v)
			return o, false
		}
		switch option {
		case "-C", "--cluster_file":
			o.clusterFile = value
		case "--exec":
			o.exec = &value
		case "--timeout":
			n, err := strconv.ParseUint(value, 10, 31)
			if err != nil {
				fmt.Fprintf(stderr, "ERROR: invalid timeout %s\n", value)
				return o, false
			}
			o.timeout = time.Duration(n) * time.Second
		case "-v", "--version":
			o.version = true
		case "-h", "-?", "--help":
			o.help = true
		}
	}
	if o.timeout > 0 && o.exec == nil && !o.version && !o.help {
		fmt.Fprint(stderr, "ERROR: --timeout may only be specified with --exec\n")
		return o, false
	}
	return o, true
}

func usage(w io.Writer, v model.Version) {
	fmt.Fprintf(w, "FoundationDB CLI %s (v%s)\nusage: fdbcli [OPTIONS]\n\n"+
		"  -C CONNFILE    The path of a file containing the connection string for the\n"+
		"                 FoundationDB cluster.\n"+
		"  --exec CMDS    Immediately executes the semicolon separated CLI commands\n"+
		"                 and then exits.\n"+
		"  -v, --version  Print FoundationDB CLI version information and exit.\n"+
		"  -h, --help     Display this help and exit.\n", v.Line(), v)
}
