package inspect

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
)

// Snapshot saves what a decision depended on.
func Snapshot(a *cli.App) *cobra.Command {
	var file string
	out := cli.JSON
	cmd := &cobra.Command{
		Use:   "snapshot NAME",
		Short: "Save everything that the newest decision depended on",
		Long: `Save everything that the newest decision about a DatabaseCluster depended on.

The snapshot can be decided on again, without a cluster, by plan --snapshot and
explain --snapshot.`,
		Example:           fmt.Sprintf("  %[1]s snapshot search -n prod -f search.json", a.Name),
		Args:              cli.OneName("DatabaseCluster"),
		ValidArgsFunction: a.CompleteNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			resp, err := a.Snapshot(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			data, err := cli.Rendered(out, []byte(resp.GetSnapshotJson()))
			if err != nil {
				return err
			}
			if file == "" || file == "-" {
				_, err = a.Out.Write(data)
				return err
			}
			return writeFile(file, data)
		},
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "write to this file and not to standard output")
	cli.OutputFlag(cmd, &out, cli.JSON, cli.YAML)
	return cmd
}

// writeFile replaces the file atomically.
func writeFile(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(data); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Chmod(f.Name(), 0o644); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
