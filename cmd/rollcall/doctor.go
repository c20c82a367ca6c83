package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/show"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// exitFindings: the doctor has found an error.
const exitFindings = 2

// examined is what doctor writes.
type examined struct {
	Checks   []string         `json:"checks"`
	Findings []doctor.Finding `json:"findings"`
	// Unread is what could not be read, so that what depends on it was not examined.
	Unread []string `json:"unread,omitempty"`
}

func newDoctor(a *app) *cobra.Command {
	var file string
	var out format
	cmd := &cobra.Command{
		Use:   "doctor [NAME]...",
		Short: "Examine a chart, or what runs, before anything is changed",
		Long: `Examine the StatefulSets of a rendered chart, or those of a namespace that belong to a
DatabaseCluster, before anything is changed: what Rollcall could not work with, what is
less safe than it seems, and how to mend it. Nothing is written.

A NAME is that of a StatefulSet or of a DatabaseCluster. Without one it is about all
StatefulSets with the label rollcall.dev/cluster, or about all where none has it yet.

The exit status is 0 when there is no error among the findings, 2 when there is, and 1
when it could not be examined.`,
		Example: fmt.Sprintf("  helm template search ./chart | %[1]s doctor -f -\n  %[1]s doctor search -n prod", a.name),
		RunE: func(cmd *cobra.Command, args []string) error {
			var e examined
			var err error
			if file != "" {
				e, err = a.examineFile(file, args)
			} else {
				e, err = a.examineLive(cmd.Context(), args)
			}
			if err != nil {
				return err
			}
			return a.writeExamined(out, e)
		},
		ValidArgsFunction: a.completeNames,
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "manifest to examine, such as helm template writes, - for standard input")
	outputFlag(cmd, &out, "text", formatJSON, formatYAML)
	return cmd
}

func (a *app) examineFile(file string, names []string) (examined, error) {
	data, err := a.readFile(file, "manifest")
	if file == "-" {
		file = "standard input"
	}
	if err != nil {
		return examined{}, fmt.Errorf("%s: %w", file, err)
	}
	facts, err := doctor.Manifest(data)
	if err == nil {
		err = facts.Only(names)
	}
	if err != nil {
		return examined{}, fmt.Errorf("%s: %w", file, err)
	}
	return examined{Checks: doctor.Names(), Findings: doctor.Examine(facts)}, nil
}

func (a *app) examineLive(ctx context.Context, names []string) (examined, error) {
	f, ns, err := a.readFacts(ctx)
	if err != nil {
		return examined{}, err
	}
	if err := f.Only(names); err != nil {
		return examined{}, fmt.Errorf("namespace %s: %w", ns, err)
	}
	return a.examineFacts(ctx, f, ns)
}

// readFacts reads as much of the namespace as it may. Without the StatefulSets there is nothing to say.
func (a *app) readFacts(ctx context.Context) (facts *doctor.Facts, ns string, err error) {
	if ns, err = a.namespace(); err != nil {
		return nil, "", err
	}
	clusters, core, err := a.clients()
	if err != nil {
		return nil, "", err
	}
	sets, err := core.AppsV1().StatefulSets(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, "", fmt.Errorf("list StatefulSets of namespace %s: %w", ns, err)
	}
	live := &doctor.Live{
		Install: a.reach.Namespace, Snapshots: map[string]*model.Snapshot{}, Refusals: map[string][]*rollcallv1.Refusal{},
		SecretKeys: map[string][]string{}, GossipFrom: map[string]string{},
	}
	f := &doctor.Facts{Sets: sets.Items, Live: live}
	tried := live.Tried
	if v, err := core.Discovery().ServerVersion(); tried("version of Kubernetes", err) {
		live.Version = v.GitVersion
	}
	// The account of one of the controllers: it is there where each has its own.
	_, err = core.CoreV1().ServiceAccounts(metav1.NamespaceSystem).Get(ctx, "generic-garbage-collector", metav1.GetOptions{})
	live.ControllersHaveAccounts = err == nil || !apierrors.IsNotFound(err) && !tried("accounts of Kubernetes' controllers", err)
	if list, err := clusters.DatabaseClusters(ns).List(ctx, metav1.ListOptions{}); err == nil {
		f.Clusters = list.Items
	} else if !noSuchResource(err) {
		tried("DatabaseClusters", err)
	}
	if list, err := core.PolicyV1().PodDisruptionBudgets(ns).List(ctx, metav1.ListOptions{}); tried("PodDisruptionBudgets", err) {
		f.Budgets = list.Items
	}
	if list, err := core.NetworkingV1().NetworkPolicies(ns).List(ctx, metav1.ListOptions{}); tried("NetworkPolicies", err) {
		f.Policies = list.Items
	}
	if list, err := core.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{}); tried("pods", err) {
		live.Pods = list.Items
	}
	if list, err := core.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); tried("nodes", err) {
		live.Nodes = list.Items
	}
	if n, err := core.CoreV1().Namespaces().Get(ctx, live.Install, metav1.GetOptions{}); err == nil {
		live.InstallLabels = labels.Set(n.Labels)
	}
	return f, ns, nil
}

// examineFacts reads what these facts call for besides, and examines all of it.
func (a *app) examineFacts(ctx context.Context, f *doctor.Facts, ns string) (examined, error) {
	if err := a.readSecrets(ctx, f, ns); err != nil {
		return examined{}, err
	}
	return a.examineRead(ctx, f), nil
}

// examineRead examines facts of which the Secrets have been read.
func (a *app) examineRead(ctx context.Context, f *doctor.Facts) examined {
	a.readSnapshots(ctx, f)
	return examined{Checks: doctor.Names(), Findings: doctor.Examine(f), Unread: f.Live.Unread}
}

// readSecrets reads the Secrets that are named; of their content nothing is kept but which
// keys have a value.
func (a *app) readSecrets(ctx context.Context, f *doctor.Facts, ns string) error {
	_, core, err := a.clients()
	if err != nil {
		return err
	}
	wanted := f.CredentialsSecrets()
	f.SecretMetas = map[string]*metav1.ObjectMeta{}
	for _, name := range f.NamedSecrets() {
		secret, err := core.CoreV1().Secrets(ns).Get(ctx, name, metav1.GetOptions{})
		there := err == nil || !apierrors.IsNotFound(err) && !f.Live.Tried("secrets "+name, err)
		if there && slices.Contains(wanted, name) {
			f.Secrets = append(f.Secrets, ns+"/"+name)
		}
		switch {
		case err == nil:
			f.Live.SecretKeys[ns+"/"+name] = filledKeys(secret)
			f.SecretMetas[ns+"/"+name] = &metav1.ObjectMeta{
				Namespace: ns, Name: name, UID: secret.UID, ResourceVersion: secret.ResourceVersion, Labels: secret.Labels, Annotations: secret.Annotations,
			}
		case !there:
			f.SecretMetas[ns+"/"+name] = nil
		}
	}
	return nil
}

// filledKeys are the keys of a Secret that have a value.
func filledKeys(secret *corev1.Secret) []string {
	var keys []string
	for key, value := range secret.Data {
		if len(value) > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// readSnapshots asks the coordinator what it knows of the databases that there are.
func (a *app) readSnapshots(ctx context.Context, f *doctor.Facts) {
	for _, c := range f.Clusters {
		if c.UID == "" {
			continue // it is to be made
		}
		s, err := a.snapshotOf(ctx, c.Name)
		if f.Live.Tried("what the coordinator knows of "+c.Name, err) {
			f.Live.Snapshots[c.Namespace+"/"+c.Name] = s
			if told, err := a.askCoordinator(ctx, c.Namespace, c.Name); f.Live.Tried("what was refused of "+c.Name, err) {
				f.Live.Refusals[c.Namespace+"/"+c.Name] = told[0].GetRefusals()
			}
		}
		a.readGossip(ctx, f, c)
	}
}

// readGossip reads from where the agents of a database take gossip. A coordinator of an earlier
// version does not say, nor one that has not made their Service yet.
func (a *app) readGossip(ctx context.Context, f *doctor.Facts, c v1alpha1.DatabaseCluster) {
	_, core, err := a.clients()
	if err != nil {
		return
	}
	name := v1alpha1.DerivedName(c.Name)
	service, err := core.CoreV1().Services(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) && !f.Live.Tried("Service "+name, err) || err != nil {
		return
	}
	if from := service.Annotations[v1alpha1.AnnotationGossipFrom]; from != "" {
		f.Live.GossipFrom[c.Namespace+"/"+c.Name] = from
	}
}

func (a *app) snapshotOf(ctx context.Context, name string) (*model.Snapshot, error) {
	resp, err := a.getSnapshot(ctx, name)
	if err != nil {
		return nil, err
	}
	s, err := model.Decode([]byte(resp.GetSnapshotJson()))
	if err != nil {
		return nil, fmt.Errorf("its snapshot: %w", err)
	}
	return &s, nil
}

func (a *app) writeExamined(out format, e examined) error {
	if e.Findings == nil {
		e.Findings = []doctor.Finding{}
	}
	if out != formatText {
		if err := a.writeValue(out, e); err != nil {
			return err
		}
	} else {
		a.writeFindings(a.streams.Out, e.Findings)
		a.writeUnread(e.Unread)
		fmt.Fprintf(a.streams.Out, "%d checks: %s, %s, %s\n", len(e.Checks), counted(countOf(e.Findings, doctor.Error), "error"),
			counted(countOf(e.Findings, doctor.Warning), "warning"), counted(countOf(e.Findings, doctor.Info), "note"))
	}
	return unworkable(e.Findings)
}

// unworkable: there are errors among the findings.
func unworkable(findings []doctor.Finding) error {
	if n := countOf(findings, doctor.Error); n > 0 {
		return &exitError{exitFindings, fmt.Errorf("%s that Rollcall cannot work with", counted(n, "error"))}
	}
	return nil
}

const findingWidth = 96

func (a *app) writeFindings(w io.Writer, findings []doctor.Finding) {
	palette := a.palette()
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

func (a *app) writeUnread(unread []string) {
	for _, u := range unread {
		fmt.Fprintf(a.streams.ErrOut, "note: not read, so not examined: %s\n", u)
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
