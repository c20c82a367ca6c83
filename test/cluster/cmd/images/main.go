// Command images builds the container images of the demo and the tests without a container engine. See README.md of the
// cluster, one folder up.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/test/cluster/build"
	"github.com/rollcall-dev/rollcall/test/cluster/image"
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
	b := &image.Builder{}
	root := &cobra.Command{
		Use:           "rollcall-images",
		Short:         "Container images without a container engine",
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return complete(cmd, b)
		},
	}
	root.PersistentFlags().StringVar(&b.Cache, "dir", "", "where archives go (default rollcall/images in the user's cache)")

	buildCmd := &cobra.Command{
		Use:       "build [" + strings.Join(image.Names(), "|") + "]...",
		Short:     "Build images into docker-archives: all of them, or those named",
		ValidArgs: image.Names(), Args: cobra.OnlyValidArgs,
		RunE: func(cmd *cobra.Command, names []string) error {
			built, err := b.Build(cmd.Context(), names...)
			for _, x := range built {
				print(cmd, x)
			}
			return err
		},
	}
	buildCmd.Flags().StringVar(&b.Tag, "tag", image.DefaultTag, "tag of Rollcall's own images")
	buildCmd.Flags().StringVar(&b.Version, "version", "", "version that Rollcall's own programs report (default: the tag)")

	dir := &cobra.Command{
		Use: "dir", Short: "Print where the archives are", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), b.Cache)
			return err
		},
	}
	foundationDB := &cobra.Command{
		Use: "foundationdb FOLDER", Short: "Pack the fdbserver and fdbcli of a folder into an image, for tests on a real FoundationDB", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			built, err := b.FoundationDBOf(cmd.Context(), args[0])
			if err == nil {
				print(cmd, built)
			}
			return err
		},
	}
	root.AddCommand(buildCmd, dir, foundationDB,
		homeCommand(b, "solr-home", "Solr", image.Builder.SolrHome),
		homeCommand(b, "opensearch-home", "OpenSearch", image.Builder.OpenSearchHome),
		sqlHomeCommand(b, "mysql-home", "MySQL", image.MySQLHomes),
		sqlHomeCommand(b, "mariadb-home", "MariaDB", image.MariaDBHomes))
	return root
}

// sqlHomeCommand makes the folder of one version, or of all.
func sqlHomeCommand(b *image.Builder, use, database string, homes []image.SQLHome) *cobra.Command {
	version, all := "", false
	cmd := homeCommand(b, use, database, func(b image.Builder, ctx context.Context) (string, error) {
		h, err := image.HomeOf(homes, version)
		if err != nil {
			return "", err
		}
		wanted := []image.SQLHome{h}
		if all {
			wanted = homes
		}
		var folders []string
		for _, h := range wanted {
			folder, err := h.Make(ctx, b)
			if err != nil {
				return "", err
			}
			folders = append(folders, folder)
		}
		return strings.Join(folders, string(os.PathListSeparator)), nil
	})
	cmd.Flags().StringVar(&version, "version", "", "which version (default: that of the image)")
	cmd.Flags().BoolVar(&all, "all", false, "all versions, separated as in PATH, that of the image first")
	cmd.MarkFlagsMutuallyExclusive("version", "all")
	return cmd
}

// homeCommand makes the folder of a database that needs no container.
func homeCommand(b *image.Builder, use, database string, home func(image.Builder, context.Context) (string, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: "Fetch what " + database + " needs to run outside of a container, and print where it is", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := home(*b, cmd.Context())
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), home)
			}
			return err
		},
	}
}

func complete(cmd *cobra.Command, b *image.Builder) error {
	begin := time.Now()
	b.Say = func(format string, args ...any) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%6.1fs  %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
	}
	source, err := build.Source()
	if err != nil {
		return err
	}
	b.Root = filepath.Join(source, "..", "..", "..")
	if b.Cache == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("no place for images: %w", err)
		}
		b.Cache = filepath.Join(cache, "rollcall", "images")
	}
	if b.Cache, err = filepath.Abs(b.Cache); err != nil {
		return err
	}
	if b.Version == "" {
		b.Version = b.Tag
	}
	return os.MkdirAll(b.Cache, 0o755)
}

func print(cmd *cobra.Command, x image.Built) {
	st, err := os.Stat(x.Archive)
	if err != nil {
		return
	}
	state := "unchanged"
	if x.Fresh {
		state = "built"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s  %s, %s\n", x.Archive, image.MiB(st.Size()), state)
	for _, img := range x.Images {
		var size int64
		for _, l := range img.Layers {
			size += l.Size
		}
		fmt.Fprintf(cmd.OutOrStdout(), "  %s  %s in %d layers\n", img.Name, image.MiB(size), len(img.Layers))
	}
}
