package setup

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/enroll"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/show"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Doctor examines a chart or a namespace.
func Doctor(a *cli.App) *cobra.Command {
	var file, engine, credentials string
	var out cli.Format
	var connection enroll.Connection
	cmd := &cobra.Command{
		Use:   "doctor [NAME]...",
		Short: "Examine a chart, or what runs, before anything is changed",
		Long: `Examine the StatefulSets of a rendered chart, or those of a namespace that belong to a
DatabaseCluster, before anything is changed: what Rollcall could not work with, what is
less safe than it seems, and how to mend it. Of MySQL and MariaDB it names the topology, and
the Services that a switchover would leave behind. Nothing is written.

A NAME is that of a StatefulSet or of a DatabaseCluster. Without one it is about all
StatefulSets with the label rollcall.dev/cluster, or where none has it yet about those
whose images say that they are a database, of MySQL the ports, too. Where nothing does, say it
by --engine. Databases without the label are named beside those that have it.

Of all but FoundationDB it says where servers want TLS, a login or a certificate of the client.
Where there is no DatabaseCluster yet, --port, --tls, --ca-secret, --server-name, --client-secret
and --credentials-secret say what it will have, as with enroll. Of a namespace it asks one pod of
each StatefulSet whose agents cannot say it, by a port-forward.

The exit status is 0 when there is no error among the findings, 2 when there is, and 1
when it could not be examined, as when nothing says which database it is.`,
		Example: fmt.Sprintf("  helm template search ./chart | %[1]s doctor -f -\n  %[1]s doctor search -n prod", a.Name),
		RunE: func(cmd *cobra.Command, args []string) error {
			var e doctor.Report
			var err error
			if err := readConnectionFlags(cmd, &connection); err != nil {
				return err
			}
			about := asked{names: args, said: doctor.Said{TLS: connection.Enabled, Connection: connection.Model(credentials)}}
			if cmd.Flags().Changed("engine") {
				if about.engine, err = enroll.ParseEngine(engine); err != nil {
					return err
				}
			}
			if file != "" {
				e, err = examineFile(a, file, about)
			} else {
				e, err = examineLive(cmd.Context(), a, about)
			}
			if err != nil {
				return err
			}
			return writeExamined(a, out, e)
		},
		ValidArgsFunction: a.CompleteNames,
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "manifest to examine, such as helm template writes, - for standard input")
	engineFlag(cmd, &engine, "kind of database where neither image nor port says it")
	connectionFlags(cmd, &connection, &credentials)
	cli.OutputFlag(cmd, &out, "text", cli.JSON, cli.YAML)
	return cmd
}

// asked is what a person wants to know of.
type asked struct {
	names  []string
	engine model.Engine
	said   doctor.Said
}

func examineFile(a *cli.App, file string, about asked) (doctor.Report, error) {
	data, err := a.ReadFile(file, "manifest")
	if file == "-" {
		file = "standard input"
	}
	if err != nil {
		return doctor.Report{}, fmt.Errorf("%s: %w", file, err)
	}
	facts, err := doctor.Manifest(data)
	if err == nil {
		facts.Engine, facts.Said = about.engine, about.said
		err = facts.Only(about.names)
	}
	if err != nil {
		return doctor.Report{}, fmt.Errorf("%s: %w", file, err)
	}
	return doctor.NewReport(facts), nil
}

func examineLive(ctx context.Context, a *cli.App, about asked) (doctor.Report, error) {
	k, err := a.API()
	if err != nil {
		return doctor.Report{}, err
	}
	f, err := readFacts(ctx, k, a.Reach.Namespace)
	if err != nil {
		return doctor.Report{}, err
	}
	f.Engine, f.Said = about.engine, about.said
	if err := f.Only(about.names); err != nil {
		return doctor.Report{}, fmt.Errorf("namespace %s: %w", k.Namespace, err)
	}
	readConfiguration(ctx, k, f)
	readSecrets(ctx, k, f)
	return examineRead(ctx, a, k, f), nil
}

// examineRead asks the coordinator, and pods whose agents cannot say it, and examines the facts; the
// Secrets have been read.
func examineRead(ctx context.Context, a *cli.App, k cli.API, f *doctor.Facts) doctor.Report {
	readSnapshots(ctx, a, k, f)
	askPods(ctx, a, k, f)
	readMounted(ctx, k, f)
	return doctor.NewReport(f)
}

func writeExamined(a *cli.App, out cli.Format, e doctor.Report) error {
	if out != cli.Text {
		if err := a.WriteValue(out, e); err != nil {
			return err
		}
	} else {
		writeFindings(a, a.Out, e.Findings)
		writeUnread(a, e.Unread)
		fmt.Fprintf(a.Out, "%d checks: %s, %s, %s\n", len(e.Checks), counted(countOf(e.Findings, doctor.Error), "error"),
			counted(countOf(e.Findings, doctor.Warning), "warning"), counted(countOf(e.Findings, doctor.Info), "note"))
	}
	return unworkable(e.Findings)
}

// unworkable is an error when the findings include errors.
func unworkable(findings []doctor.Finding) error {
	if n := countOf(findings, doctor.Error); n > 0 {
		return cli.Exit(cli.ExitFindings, fmt.Errorf("%s that Rollcall cannot work with", counted(n, "error")))
	}
	return nil
}

const findingWidth = 96

func writeFindings(a *cli.App, w io.Writer, findings []doctor.Finding) {
	palette := a.Palette()
	marks := map[doctor.Severity]show.Mark{doctor.Error: show.Bad, doctor.Warning: show.Waiting}
	for _, f := range findings {
		fmt.Fprintf(w, "%s  %s  %s\n", palette.Paint(marks[f.Severity], fmt.Sprintf("%-7s", f.Severity)), f.Check, show.Clean(f.Object))
		for _, line := range show.Wrap(show.Clean(f.Found), findingWidth-9) {
			fmt.Fprintf(w, "         %s\n", line)
		}
		for i, line := range show.Wrap(show.Clean(f.Fix), findingWidth-14) {
			fmt.Fprintf(w, "         %-5s%s\n", map[bool]string{true: "fix:"}[i == 0], line)
		}
	}
}

func writeUnread(a *cli.App, unread []string) {
	for _, u := range unread {
		fmt.Fprintf(a.ErrOut, "note: not read, so not examined: %s\n", u)
	}
}

func countOf(findings []doctor.Finding, s doctor.Severity) int {
	return len(slices.DeleteFunc(slices.Clone(findings), func(f doctor.Finding) bool { return f.Severity != s }))
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
