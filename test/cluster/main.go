// Command cluster runs a real Kubernetes on one machine, for Rollcall's demo and tests: etcd, the control plane, and a
// few nodes in network namespaces of their own, spread over three zones. See README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/test/cluster/build"
	"github.com/rollcall-dev/rollcall/test/cluster/local"
	"github.com/rollcall-dev/rollcall/test/cluster/printable"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// Programs that are run, files and API servers have words of their own.
	stdout, stderr := printable.NewWriter(os.Stdout), printable.NewWriter(os.Stderr)
	root := command()
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(stderr, "error:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	o := &local.Options{}
	root := &cobra.Command{
		Use:   "rollcall-cluster",
		Short: "A real Kubernetes on one machine",
		Long: `A real Kubernetes on one machine: control plane and nodes, built from source, each node in its own network
namespace. Everything lies in one folder and only processes that it started are ended.

With CLUSTER=existing in the environment the cluster of $KUBECONFIG is used instead, and nothing is started or ended.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return complete(cmd, o)
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&o.Dir, "dir", "", "folder of the cluster (default $ROLLCALL_CLUSTER_DIR, else in the user's cache)")
	flags.StringVar(&o.Name, "name", "", "name of the cluster, to have several (default \""+defaultName+"\")")

	up := &cobra.Command{
		Use: "up", Short: "Bring the cluster up, or repair it", Args: cobra.NoArgs,
		RunE: unlessExisting(answers, func(cmd *cobra.Command, _ []string) error { return up(cmd, *o) }),
	}
	up.Flags().IntVar(&o.Nodes, "nodes", 0, fmt.Sprintf("number of nodes (default %d, or as many as it has)", local.DefaultNodes))
	up.Flags().BoolVar(&o.Bare, "bare", false, "a control plane without nodes, for simulated kubelets")

	var purge bool
	down := &cobra.Command{
		Use: "down", Short: "End the cluster; its data stays", Args: cobra.NoArgs,
		RunE: unlessExisting(answers, func(cmd *cobra.Command, _ []string) error {
			err := with(cmd, *o, func(c *local.Cluster) error { return c.Down(cmd.Context(), purge) })
			if errors.Is(err, local.ErrNone) {
				o.Say("%v: nothing to take down", err)
				return nil
			}
			return err
		}),
	}
	down.Flags().BoolVar(&purge, "purge", false, "remove its data too")

	load := &cobra.Command{
		Use: "load IMAGE.tar...", Short: "Load images (docker-archives) into all nodes", Args: cobra.MinimumNArgs(1),
		RunE: unlessExisting(explainLoad, func(cmd *cobra.Command, files []string) error {
			return with(cmd, *o, func(c *local.Cluster) error { return c.Load(cmd.Context(), files) })
		}),
	}
	status := &cobra.Command{
		Use: "status", Short: "Say what runs", Args: cobra.NoArgs,
		RunE: unlessExisting(answers, func(cmd *cobra.Command, _ []string) error {
			return with(cmd, *o, func(c *local.Cluster) error { return c.Status(cmd.Context(), cmd.OutOrStdout()) })
		}),
	}
	kubeconfig := &cobra.Command{
		Use: "kubeconfig", Short: "Print the path of the administrator's kubeconfig", Args: cobra.NoArgs,
		RunE: unlessExisting(printUserKubeconfig, func(cmd *cobra.Command, _ []string) error {
			return with(cmd, *o, func(c *local.Cluster) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), c.Plan.Kubeconfig())
				return err
			})
		}),
	}
	kubectl := &cobra.Command{
		Use: "kubectl", Short: "Print the path of a kubectl of the cluster's version", Args: cobra.NoArgs,
		RunE: unlessExisting(printUserKubectl, func(cmd *cobra.Command, _ []string) error {
			return with(cmd, *o, func(c *local.Cluster) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), c.Plan.Path("bin", "kubectl"))
				return err
			})
		}),
	}
	programs := &cobra.Command{
		Use: "programs", Short: "Build what clusters are made of, and print the folders it is in, as in PATH", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return printPrograms(cmd, *o) },
	}
	node := &cobra.Command{Use: "node", Short: "Kill a node, or bring it back"}
	node.AddCommand(
		&cobra.Command{
			Use: "stop NAME", Short: "Kill a node: all its processes at once, and its wire", Args: cobra.ExactArgs(1),
			RunE: unlessExisting(refuse, func(cmd *cobra.Command, args []string) error {
				return with(cmd, *o, func(c *local.Cluster) error { return c.StopNode(cmd.Context(), args[0]) })
			}),
		},
		&cobra.Command{
			Use: "start NAME", Short: "Bring a killed node back", Args: cobra.ExactArgs(1),
			RunE: unlessExisting(refuse, func(cmd *cobra.Command, args []string) error {
				return with(cmd, *o, func(c *local.Cluster) error { return c.StartNode(cmd.Context(), args[0]) })
			}),
		},
	)
	root.AddCommand(up, down, load, status, kubeconfig, kubectl, programs, node)
	return root
}

const defaultName = local.DefaultName

// complete fills in what was not given: each name has its own folder, and all of them share the built programs.
func complete(cmd *cobra.Command, o *local.Options) error {
	begin := time.Now()
	o.Say = func(format string, args ...any) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%6.1fs  %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("no place for built programs: %w", err)
	}
	cache = filepath.Join(cache, "rollcall")
	o.Cache = filepath.Join(cache, "programs")
	switch env := os.Getenv("ROLLCALL_CLUSTER_DIR"); {
	case o.Dir != "":
	case o.Name != "" && o.Name != defaultName:
		o.Dir = filepath.Join(cache, "cluster-"+o.Name)
	case env != "":
		o.Dir = env
	default:
		o.Dir = filepath.Join(cache, "cluster")
	}
	return nil
}

func up(cmd *cobra.Command, o local.Options) error {
	c, err := local.Create(cmd.Context(), o)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Up(cmd.Context()); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "export KUBECONFIG=%s\nexport PATH=%s:$PATH  # kubectl\n",
		c.Plan.Kubeconfig(), c.Plan.Path("bin"))
	return nil
}

// printPrograms is for users who want an API server alone. It needs neither root nor a cluster.
func printPrograms(cmd *cobra.Command, o local.Options) error {
	source, err := build.Source()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.Cache, 0o755); err != nil {
		return err
	}
	files, err := (build.Builder{Source: source, Cache: o.Cache, Say: o.Say}).All(cmd.Context())
	if err != nil {
		return err
	}
	var dirs []string
	for _, file := range files {
		dirs = append(dirs, filepath.Dir(file))
	}
	slices.Sort(dirs)
	_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.Join(slices.Compact(dirs), string(filepath.ListSeparator)))
	return err
}

func with(cmd *cobra.Command, o local.Options, do func(*local.Cluster) error) error {
	c, err := local.Open(cmd.Context(), o)
	if err != nil {
		return err
	}
	defer c.Close()
	return do(c)
}

type runE = func(*cobra.Command, []string) error

// unlessExisting does the first when the user brings their own cluster, and else the second.
func unlessExisting(existing, local runE) runE {
	return func(cmd *cobra.Command, args []string) error {
		switch mode := os.Getenv("CLUSTER"); mode {
		case "", "local":
			return local(cmd, args)
		case "existing":
			return existing(cmd, args)
		default:
			return fmt.Errorf("CLUSTER=%s: it is either local (the default) or existing", mode)
		}
	}
}

// answers only checks that the user's cluster is there.
func answers(cmd *cobra.Command, _ []string) error {
	client, err := local.Client("")
	if err != nil {
		return err
	}
	v, err := client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("the existing cluster does not answer: %w", err)
	}
	nodes, err := client.CoreV1().Nodes().List(cmd.Context(), metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("the existing cluster does not list its nodes: %w", err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "existing cluster: Kubernetes %s, %d nodes; left as it is\n", v.GitVersion, len(nodes.Items))
	return nil
}

func explainLoad(cmd *cobra.Command, files []string) error {
	fmt.Fprintln(cmd.OutOrStdout(), `Images get into an existing cluster in its own way. For these archives:
  kind:      kind load image-archive FILE
  minikube:  minikube image load FILE
  others:    docker load -i FILE, docker tag and docker push to a registry that the nodes can reach
FILES:`)
	for _, f := range files {
		fmt.Fprintln(cmd.OutOrStdout(), "  "+f)
	}
	return nil
}

func printUserKubeconfig(cmd *cobra.Command, _ []string) error {
	file := os.Getenv("KUBECONFIG")
	if file == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		file = filepath.Join(home, ".kube", "config")
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), file)
	return err
}

func printUserKubectl(cmd *cobra.Command, _ []string) error {
	file, err := exec.LookPath("kubectl")
	if err != nil {
		return fmt.Errorf("kubectl for the existing cluster: %w", err)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), file)
	return err
}

func refuse(*cobra.Command, []string) error {
	return errors.New("nodes of an existing cluster are not touched")
}
