package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// completeHelp says what help has to say and is the same for many commands:
// which exit status means what, where a command has none of its own.
func completeHelp(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Example = "  source <(" + root.DisplayName() + " completion bash)    # and zsh, fish, powershell: see completion bash --help"
		}
		if c.Long == "" {
			c.Long = c.Short + "."
		}
		if !strings.Contains(c.Long, "exit status") {
			c.Long += "\n\nThe exit status is 0 when this was done, and 1 otherwise."
		}
	}
}
