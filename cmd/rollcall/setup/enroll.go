package setup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/enroll"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/show"
)

// enrolling is what a person asks of enroll.
type enrolling struct {
	enroll.Options
	dryRun  bool
	timeout time.Duration
	out     cli.Format

	networkPolicy bool
	metricsFrom   []string
}

// Enroll puts running StatefulSets under Rollcall.
func Enroll(a *cli.App) *cobra.Command {
	var engine, primary string
	e := enrolling{timeout: 3 * time.Minute}
	cmd := &cobra.Command{
		Use:   "enroll STATEFULSET...",
		Short: "Put running StatefulSets under Rollcall, and say what is left to do",
		Long: `Put the StatefulSets of one database, which run already, under Rollcall. They are examined
first, as doctor does. Where nothing is in the way, what they lack is written: a partition
where a RollingUpdate names none, the label rollcall.dev/cluster, also of the Secret with the
username and password (the one that you name, or the default one of a new DatabaseCluster),
and a DatabaseCluster.
Whether Kubernetes admits their pods with an agent is tried by a dry run, if you may create pods.
None of it restarts a pod, and what is there is left as it is. Then this waits until
Kubernetes refuses to remove their pods, and says what is left for a person: the label in
the pod template, and to approve that each pod restarts once for its agent.

Of MySQL and MariaDB it says the topology and the reason, and writes spec.update.primary:
RestartInPlace for a fixed primary or a single server, and engine Galera for Galera. Where the
topology cannot be told, say it by --primary or --engine. Name all StatefulSets of a database.
Nothing is written where a switchover would leave the Service for writes behind.

MySQL and MariaDB need a Secret with the keys username and password first: NAME` + `-rollcall-credentials
of the DatabaseCluster, or the one that --credentials-secret names. For other fields of the
DatabaseCluster than this writes, apply one yourself; --dry-run -o yaml prints one to begin with.

With --network-policy it also prints a NetworkPolicy, and writes none. It closes the agents' ports to
all but each other, the coordinators and, for metrics, the namespaces of --metrics-from; the kubelet
needs no rule. The database's own ports stay as they are: open to everybody, or as the policies
say that select its pods. Your network plugin should know ranges of ports (endPort; Cilium from 1.16):
where it does not, only those of the database's ports stay open that its containers name.

The exit status is 0 when all of it is done, 1 when it could not be, 2 when the doctor finds
errors, so that nothing was written, and 3 when all is written and the time is up. The same
command again goes on from there.`,
		Example: fmt.Sprintf(`  %[1]s enroll solr -n prod
  %[1]s enroll db-primary db-secondary -n prod --name db
  %[1]s enroll os-data os-managers -n prod --name logs --engine OpenSearch
  %[1]s enroll mysql -n prod --credentials-secret mysql-rollcall-accounts --dry-run
  %[1]s enroll solr -n prod --dry-run -o yaml --network-policy --metrics-from monitoring`, a.Name),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%s: the name of a StatefulSet is required\nSee '%s --help'", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: a.CompleteSets,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if cmd.Flags().Changed("engine") {
				if e.Engine, err = enroll.ParseEngine(engine); err != nil {
					return err
				}
			}
			if cmd.Flags().Changed("primary") {
				if e.Primary, err = enroll.ParsePrimary(primary); err != nil {
					return err
				}
			}
			if cmd.Flags().Changed("name") && e.Name == "" {
				return errors.New("--name is empty: must be a name")
			}
			if err := readConnectionFlags(cmd, &e.Connection); err != nil {
				return err
			}
			if e.timeout <= 0 {
				return fmt.Errorf("--timeout is %s: must be more than 0, such as 3m", e.timeout)
			}
			if len(e.metricsFrom) > 0 && !e.networkPolicy {
				return errors.New("--metrics-from says whom a NetworkPolicy lets through: it is only good with --network-policy")
			}
			for _, ns := range e.metricsFrom {
				if why := validation.IsDNS1123Label(ns); len(why) > 0 {
					return fmt.Errorf("--metrics-from %q: must be the name of a namespace: %s", ns, why[0])
				}
			}
			e.Sets = args
			return enrollSets(cmd.Context(), a, e)
		},
	}
	engineFlag(cmd, &engine, "kind of database; default: what the image says")
	cmd.Flags().StringVar(&primary, "primary", "", "what the primary of MySQL or MariaDB does before its pod goes: Switchover, RestartInPlace, Hold; default: by the topology")
	_ = cmd.RegisterFlagCompletionFunc("primary", cobra.FixedCompletions([]string{"Switchover", "RestartInPlace", "Hold"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().StringVar(&e.Name, "name", "", "name of the DatabaseCluster; default: what the label says, or the name of the first StatefulSet")
	connectionFlags(cmd, &e.Connection, &e.CredentialsSecret)
	cmd.Flags().BoolVar(&e.Observe, "observe", false, "make a DatabaseCluster that only shows what it would do")
	cmd.Flags().BoolVar(&e.dryRun, "dry-run", false, "write nothing; print the manifest and the commands that this amounts to")
	cmd.Flags().DurationVar(&e.timeout, "timeout", e.timeout, "how long to wait for the coordinator")
	cmd.Flags().BoolVar(&e.networkPolicy, "network-policy", false, "print a NetworkPolicy, too, that keeps strangers off the agents' ports")
	cmd.Flags().StringSliceVar(&e.metricsFrom, "metrics-from", nil, "namespaces that may read the agents' metrics, by that policy; none = nobody")
	cli.OutputFlag(cmd, &e.out, "text", cli.JSON, cli.YAML)
	return cmd
}

func enrollSets(ctx context.Context, a *cli.App, e enrolling) error {
	k, err := a.API()
	if err != nil {
		return err
	}
	facts, err := readFacts(ctx, k, a.Reach.Namespace)
	if err != nil {
		return err
	}
	if doctor.IsSQL(e.Engine) {
		facts.SQL = e.Sets
	}
	facts.Said.TLS = e.Connection.Enabled
	readConfiguration(ctx, k, facts)
	if found := facts.Operated(e.Sets); unworkable(found) != nil {
		writeFindings(a, a.ErrOut, found)
		return fmt.Errorf("nothing was written: %w", unworkable(found))
	}
	e.Namespace = k.Namespace
	plan, err := enroll.Decide(facts, e.Options)
	if err != nil {
		return err
	}
	after := plan.Facts(facts)
	readSecrets(ctx, k, after)
	plan.Consent(after)
	after.Live.Admission = try(ctx, k, plan, after.Live)
	found := examineRead(ctx, a, k, after)
	// With -o and --dry-run, standard output has only manifests and commands; it is empty where nothing
	// can be written.
	say := a.Out
	if e.out != cli.Text || e.dryRun || unworkable(found.Findings) != nil {
		say = a.ErrOut
	}
	if plan.Topology != "" {
		fmt.Fprintln(say, show.Clean(plan.TopologyLine()))
		fmt.Fprintln(say, show.Clean(doctor.Account(plan.Cluster.Spec.Engine, plan.Topology, plan.Cluster.Spec.Update.Primary)))
	}
	if plan.Image != "" {
		fmt.Fprintf(a.ErrOut, "note: the engine is %s, as the image %s says\n", plan.Cluster.Spec.Engine, show.Clean(plan.Image))
	}
	writeObstacles(a, plan, found, e)
	if needs := plan.Needs(a.Name, after); needs != "" {
		fmt.Fprintf(a.ErrOut, "\n%s\n", show.Clean(needs))
	}
	objects := []any{plan.Manifest()}
	var policy *networkingv1.NetworkPolicy
	if e.networkPolicy {
		if policy, err = plan.NetworkPolicy(facts, e.metricsFrom); err != nil {
			return err
		}
		objects = append(objects, policy)
	}
	if e.dryRun {
		return errors.Join(writeDryRun(a, plan, policy, e.out, objects), unworkable(found.Findings))
	}
	if err := unworkable(found.Findings); err != nil {
		return fmt.Errorf("nothing was written: %w", err)
	}
	if err := (&enrollment{API: k, plan: plan}).write(ctx, say); err != nil {
		return err
	}
	if e.out != cli.Text {
		if err := writeObjects(a, e.out, objects); err != nil {
			return err
		}
	}
	if err := waitEnrolled(ctx, a, plan, e.timeout); err != nil {
		return err
	}
	if plan.Guards() {
		fmt.Fprintf(say, "databasecluster/%s: Kubernetes refuses to remove pods that Rollcall has not let go\n", plan.Name)
	} else {
		fmt.Fprintf(say, "databasecluster/%s: the coordinator has decided; nothing is guarded, as it asks for\n", plan.Name)
	}
	fmt.Fprintf(say, "\n%s", plan.Left(a.Name, facts.Live.Pods))
	if policy != nil && e.out == cli.Text {
		fmt.Fprintf(say, "\nTo keep strangers off the agents' ports, apply this, which counts for each pod that has the label:\n\n")
		return writeApply(a, policy)
	}
	return nil
}

// engineFlag adds the flag that names an engine.
func engineFlag(cmd *cobra.Command, engine *string, usage string) {
	var engines []string
	for _, known := range enroll.Engines {
		engines = append(engines, string(known))
	}
	cmd.Flags().StringVar(engine, "engine", "", usage+" ("+strings.Join(engines, ", ")+")")
	_ = cmd.RegisterFlagCompletionFunc("engine", cobra.FixedCompletions(engines, cobra.ShellCompDirectiveNoFileComp))
}

// writeObjects writes several objects as YAML documents or as a List.
func writeObjects(a *cli.App, out cli.Format, objects []any) error {
	switch {
	case len(objects) == 1:
		return a.WriteValue(out, objects[0])
	case out == cli.JSON:
		return a.WriteValue(out, map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	}
	for i, object := range objects {
		if i > 0 {
			fmt.Fprintln(a.Out, "---")
		}
		if err := a.WriteValue(out, object); err != nil {
			return err
		}
	}
	return nil
}

// writeApply writes a shell command that applies the object.
func writeApply(a *cli.App, object any) error {
	fmt.Fprintln(a.Out, "kubectl apply -f - <<'EOF'")
	if err := a.WriteValue(cli.YAML, object); err != nil {
		return err
	}
	fmt.Fprintln(a.Out, "EOF")
	return nil
}

// writeObstacles writes errors, and warnings about the guard, as the doctor does. Other
// warnings are one line each.
func writeObstacles(a *cli.App, plan *enroll.Plan, found doctor.Report, e enrolling) {
	of := func(is func(doctor.Finding) bool) (out []doctor.Finding) {
		for _, f := range found.Findings {
			if is(f) {
				out = append(out, f)
			}
		}
		return out
	}
	inTheWay := func(f doctor.Finding) bool {
		return f.Severity == doctor.Error || f.Check == "budget" && f.Severity == doctor.Warning && plan.Guards()
	}
	writeFindings(a, a.ErrOut, of(inTheWay))
	writeUnread(a, found.Unread)
	// The missing label in the pod template is one of the steps that are left.
	rest := of(func(f doctor.Finding) bool { return f.Severity == doctor.Warning && f.Check != "label" && !inTheWay(f) })
	for _, f := range rest {
		fmt.Fprintf(a.ErrOut, "warning: %s: %s\n", f.Check, show.Clean(f.Found))
	}
	if len(rest) > 0 {
		fmt.Fprintf(a.ErrOut, "note: how to mend them: %s doctor %s -n %s\n", a.Name, strings.Join(e.Sets, " "), e.Namespace)
	}
}

// writeDryRun prints the equivalent shell commands, or only the manifest.
func writeDryRun(a *cli.App, plan *enroll.Plan, policy *networkingv1.NetworkPolicy, out cli.Format, objects []any) error {
	if out != cli.Text {
		return writeObjects(a, out, objects)
	}
	w := a.Out
	if len(plan.Steps) == 0 {
		fmt.Fprintln(w, "# nothing would be written: all of it is there")
	}
	for _, s := range plan.Steps {
		if s.Command != "" {
			fmt.Fprintln(w, s.Command)
			continue
		}
		if err := writeApply(a, plan.Manifest()); err != nil {
			return err
		}
	}
	if policy != nil {
		return writeApply(a, policy)
	}
	return nil
}
