package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Format is an output format.
type Format string

// The formats.
const (
	Text Format = ""
	JSON Format = "json"
	YAML Format = "yaml"
	// Wide is text with more columns.
	Wide Format = "wide"
)

// OutputFlag adds -o to a command.
func OutputFlag(cmd *cobra.Command, f *Format, allowed ...Format) {
	names := make([]string, 0, len(allowed))
	for _, a := range allowed {
		names = append(names, string(a))
	}
	cmd.Flags().VarP(&formatValue{f, names}, "output", "o", "output format: "+strings.Join(names, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

type formatValue struct {
	f       *Format
	allowed []string
}

func (v *formatValue) String() string { return string(*v.f) }
func (v *formatValue) Type() string   { return "format" }
func (v *formatValue) Set(text string) error {
	if !slices.Contains(v.allowed, text) {
		return errors.New("want " + strings.Join(v.allowed, ", "))
	}
	if *v.f = Format(text); text == "text" {
		*v.f = Text
	}
	return nil
}

// OneName is for commands about one thing, which is their only argument.
func OneName(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s: requires the name of one %s, got %d\nSee '%s --help'", cmd.CommandPath(), what, len(args), cmd.CommandPath())
		}
		return nil
	}
}
