// Package cli speaks the words of fdbcli: its options, commands, texts, streams and exit codes, of the versions 6.3, 7.1, 7.3
// and 7.4. What is known of each text, and what is not, is in DESIGN.md one folder up.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

// Program is an fdbcli of one version.
type Program struct {
	Version model.Version
	Stdout  io.Writer
	Stderr  io.Writer
	// Open gives what a cluster file leads to.
	Open func(clusterFile string) (Database, error)
	// ClusterFile that is used when no option names one, and whether nobody asked for it.
	ClusterFile string
	IsDefault   bool
	// Poll is how often is asked again what was not to be had; 200 ms by default.
	Poll time.Duration
	// Patience is how long a status waits for coordinators; one second by default. The real one waits for some five.
	Patience time.Duration
	// WarnAfter is how long a command takes until a long delay is told; 5 s by default, and 2 s more for status.
	WarnAfter time.Duration
	// LookAfter is how much later the database was looked at, of which a long delay is told as well; 5 s by default.
	LookAfter time.Duration
	// Reach is for how long a coordinator that is to be one is tried; 5 s by default.
	Reach time.Duration
	// KillDelay is how long 7.3 and later wait after a kill; 3 s by default.
	KillDelay time.Duration
	// Clock tells the time; time.Now by default.
	Clock func() time.Time
	// Deaf makes the program ignore SIGTERM, for the fault that hangs for ever.
	Deaf func()
}

// Database is a database that can be asked. An error says that nobody could be reached.
type Database interface {
	Ask(ctx context.Context, r wire.Request) (wire.Reply, error)
	// Coordinators as the cluster file has them.
	Coordinators() []string
}

const (
	exitDone   = 0
	exitFailed = 1
)

// Run does what the arguments ask, and returns the exit code.
func (p Program) Run(ctx context.Context, args []string) int {
	p = p.withDefaults()
	o, ok := parse(args, p.Version, p.Stdout, p.Stderr)
	switch {
	case !ok:
		return exitFailed
	case o.help:
		usage(p.Stdout, p.Version)
		return exitDone
	case o.version:
		fmt.Fprintf(p.Stdout, "FoundationDB CLI %s (v%s)\nsource version simulated\nprotocol fdb00b0%d%d010000\n",
			p.Version.Line(), p.Version, p.Version.Major, p.Version.Minor)
		return exitDone
	}
	file, isDefault := o.clusterFile, false
	if file == "" {
		file, isDefault = p.ClusterFile, p.IsDefault
	}
	db, err := p.Open(file)
	if err != nil {
		fmt.Fprintln(p.Stderr, clusterFileError(file, isDefault, err))
		return exitFailed
	}
	if o.exec == nil {
		fmt.Fprint(p.Stderr, "ERROR: the simulated fdbcli has no prompt: want --exec\n")
		return exitFailed
	}
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	s := &session{Program: p, db: db, begun: time.Now(), warnAt: p.WarnAfter}
	code, err := s.run(ctx, *o.exec)
	if err != nil {
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			fmt.Fprint(p.Stderr, timeoutReached)
		}
		return exitFailed
	}
	return code
}

func (p Program) withDefaults() Program {
	if p.Poll == 0 {
		p.Poll = 200 * time.Millisecond
	}
	if p.Patience == 0 {
		p.Patience = time.Second
	}
	if p.WarnAfter == 0 {
		p.WarnAfter = 5 * time.Second
	}
	if p.LookAfter == 0 {
		p.LookAfter = 5 * time.Second
	}
	if p.Reach == 0 {
		p.Reach = 5*time.Second + 100*time.Millisecond
	}
	if p.Clock == nil {
		p.Clock = time.Now
	}
	if p.KillDelay == 0 {
		p.KillDelay = 3 * time.Second
	}
	return p
}

func clusterFileError(file string, isDefault bool, err error) string {
	switch {
	case errors.Is(err, wire.ErrConnectionString):
		return fmt.Sprintf("Invalid cluster file `%s': 2104 Connection string invalid", file)
	case isDefault:
		return "Unable to read cluster file `./fdb.cluster' or `/etc/foundationdb/fdb.cluster' and FDB_CLUSTER_FILE unset: " +
			"1515 No cluster file found in current directory or default location"
	default:
		return fmt.Sprintf("Unable to read cluster file `%s': 1515 No cluster file found in current directory or default location", file)
	}
}

// session is one call with --exec.
type session struct {
	Program
	db      Database
	begun   time.Time
	warnAt  time.Duration // after which the long delay is told; 0 when it was, or is not to be
	lookAt  time.Duration // after which is told how the database is; 0 when it was, or is not to be
	status  bool          // the command is status, whose warning is another
	fault   wire.Fault
	killed  map[string]bool // addresses that kill may name
	writes  bool            // writemode on
	options map[string]bool // of transactions
}

// perform does the commands of a line, until one fails.
func (s *session) perform(ctx context.Context, line string) (int, error) {
	p := split(line)
	if p.malformed {
		fmt.Fprintln(s.Stdout, "ERROR: malformed escape sequence")
	}
	if p.partial {
		fmt.Fprintln(s.Stdout, "ERROR: unterminated quote")
	}
	failed := false
	for i, tokens := range p.commands {
		last := i == len(p.commands)-1
		if failed {
			fmt.Fprint(s.Stdout, "WARNING: the previous command failed, the remaining commands will not be executed.\n")
			break
		}
		if last && (p.malformed || p.partial) {
			notRun(s.Stdout, s.Stderr, tokens)
			failed = true
			continue
		}
		if len(tokens) == 0 {
			continue
		}
		if len(p.commands) > 1 {
			echo(s.Stdout, tokens)
		}
		done, err := s.command(ctx, tokens)
		if err != nil {
			return exitFailed, err
		}
		failed = !done
	}
	if failed {
		return exitFailed, nil
	}
	return exitDone, nil
}

func echo(w io.Writer, tokens []string) {
	fmt.Fprint(w, ">>>")
	for _, t := range tokens {
		fmt.Fprintf(w, " %s", printable(t))
	}
	fmt.Fprintln(w)
}

func notRun(stdout, stderr io.Writer, tokens []string) {
	fmt.Fprint(stderr, "ERROR: Command failed to completely parse.\n")
	if len(tokens) == 0 {
		return
	}
	fmt.Fprint(stderr, "ERROR: Not running partial or malformed command:")
	for _, t := range tokens {
		fmt.Fprintf(stdout, " %s", printable(t))
	}
	fmt.Fprintln(stdout)
}

// commands by name. They return whether they succeeded, as the exit code will say; an error is the end of time.
var commands = map[string]func(*session, context.Context, []string) (bool, error){
	"status":           (*session).statusCommand,
	"exclude":          (*session).excludeCommand,
	"include":          (*session).includeCommand,
	"maintenance":      (*session).maintenanceCommand,
	"datadistribution": (*session).distributionCommand,
	"coordinators":     (*session).coordinatorsCommand,
	"kill":             (*session).killCommand,
	"sleep":            (*session).sleepCommand,
	"writemode":        (*session).writemodeCommand,
	"set":              (*session).setCommand,
	"get":              (*session).getCommand,
	"getversion":       (*session).getVersionCommand,
	"getrangekeys":     (*session).rangeKeysCommand,
	"option":           (*session).optionCommand,
	"lock":             (*session).lockCommand,
}

func (s *session) command(ctx context.Context, tokens []string) (bool, error) {
	run, known := commands[tokens[0]]
	if !known {
		fmt.Fprintf(s.Stderr, "ERROR: Unknown command `%s'. Try `help'?\n", printable(tokens[0]))
		return false, nil
	}
	s.begun, s.warnAt, s.lookAt, s.status = time.Now(), s.WarnAfter, 0, tokens[0] == "status"
	if s.status {
		s.warnAt = s.WarnAfter * 7 / 5
	}
	return run(s, ctx, tokens)
}

// ask asks until the database answers.
func (s *session) ask(ctx context.Context, r wire.Request) (wire.Reply, error) {
	for {
		reply, err := s.db.Ask(ctx, s.signed(r))
		if err == nil && reply.Problem != wire.Unavailable && reply.Problem != wire.Stranger {
			return reply, nil
		}
		if err := s.pause(ctx, s.Poll); err != nil {
			return wire.Reply{}, err
		}
	}
}

func (s *session) signed(r wire.Request) wire.Request {
	r.Line = s.Version.Line()
	return r
}

// pause waits, and tells once of a long delay.
func (s *session) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
	}
	switch age := time.Since(s.begun); {
	case s.warnAt > 0 && age > s.warnAt:
		s.warn()
	case s.lookAt > 0 && age > s.lookAt:
		s.lookAt = 0
		s.tellOfDatabase(ctx)
	}
	return nil
}

// warn tells of a long delay on stderr, and has the database looked at unless the command is status anyway.
func (s *session) warn() {
	fmt.Fprint(s.Stderr, "\nWARNING: Long delay (Ctrl-C to interrupt)\n")
	if !s.status {
		s.lookAt = s.warnAt + s.LookAfter
	}
	s.warnAt = 0
}

// tellOfDatabase says on stdout how the database is, for a command that takes long.
func (s *session) tellOfDatabase(ctx context.Context) {
	reply, err := s.db.Ask(ctx, s.signed(wire.Request{Op: wire.Status}))
	fmt.Fprintln(s.Stdout)
	switch {
	case err != nil || reply.Problem != wire.NoProblem || !reply.Available:
		fmt.Fprint(s.Stdout, "The database is unavailable; type `status' for more information.\n")
	case reply.Healthy:
		fmt.Fprint(s.Stdout, "The database is available.\n")
	default:
		fmt.Fprint(s.Stdout, "The database is available, but has issues (type 'status' for more information).\n")
	}
	fmt.Fprintln(s.Stdout)
}

var usages = map[string]string{
	"status":           "status [minimal|details|json]",
	"writemode":        "writemode <on|off>",
	"set":              "set <KEY> <VALUE>",
	"get":              "get <KEY>",
	"getversion":       "getversion",
	"getrangekeys":     "getrangekeys <BEGINKEY> [ENDKEY] [LIMIT]",
	"option":           "option <STATE> <OPTION> <ARG>",
	"lock":             "lock",
	"include":          "include all|[<ADDRESS...>] [locality_dcid:<excludedcid>] [locality_zoneid:<excludezoneid>] [locality_machineid:<excludemachineid>] [locality_processid:<excludeprocessid>] or any locality data",
	"maintenance":      "maintenance [on|off] [ZONEID] [SECONDS]",
	"datadistribution": "datadistribution <on|off|disable <ssfailure|rebalance>|enable <ssfailure|rebalance>>",
	"sleep":            "sleep <SECONDS>",
}

// misused says how the command is to be used. It fails.
func (s *session) misused(name string) (bool, error) {
	text := usages[name]
	if name == "include" && !s.Version.Localities() {
		text = "include all|<ADDRESS...>"
	}
	fmt.Fprintf(s.Stdout, "Usage: %s\n", text)
	return false, nil
}

func join(all []string) string { return strings.Join(all, ",") }
