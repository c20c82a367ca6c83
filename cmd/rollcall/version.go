package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
)

// version is set by the build: -ldflags "-X main.version=v1.2.3". Without it
// the module's version and commit are shown.
var version = ""

type buildVersion struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
}

func newVersion(a *cli.App) *cobra.Command {
	var out cli.Format
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version of this program",
		Example: fmt.Sprintf("  %[1]s version\n  %[1]s version -o json", a.Name),
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := builtVersion()
			if out != cli.Text {
				return a.WriteValue(out, v)
			}
			_, err := fmt.Fprintln(a.Out, versionText(a.Name, v))
			return err
		},
	}
	cli.OutputFlag(cmd, &out, "text", cli.JSON, cli.YAML)
	return cmd
}

func builtVersion() buildVersion {
	info, _ := debug.ReadBuildInfo()
	return versionOf(version, info)
}

func versionText(name string, v buildVersion) string {
	text := name + " " + v.Version
	if v.Commit != "" {
		text += " (" + v.Commit + ")"
	}
	return text
}

func versionOf(stamped string, info *debug.BuildInfo) buildVersion {
	v := buildVersion{Version: stamped, Go: runtime.Version()}
	if info != nil {
		if v.Version == "" {
			v.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Commit = s.Value
			}
		}
	}
	if v.Version == "" {
		v.Version = "(devel)"
	}
	return v
}
