package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func help(cmd *cobra.Command) string {
	var b strings.Builder
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	b.WriteString(text + "\n\nUsage:\n")
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
	} else {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.Example != "" {
		b.WriteString("\nExamples:\n  " + strings.ReplaceAll(cmd.Example, "\n", "\n  ") + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		commands(&b, cmd)
	}
	if f := cmd.LocalFlags(); f.HasAvailableFlags() {
		b.WriteString("\nFlags:\n" + f.FlagUsages())
	}
	if f := cmd.InheritedFlags(); f.HasAvailableFlags() {
		b.WriteString("\nGlobal flags:\n" + f.FlagUsages())
	}
	return b.String()
}

// commands lists what is below a command, group by group.
func commands(b *strings.Builder, cmd *cobra.Command) {
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, g := range groups {
		fmt.Fprintf(b, "\n%s\n", g.Title)
		for _, sub := range cmd.Commands() {
			if sub.GroupID == g.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(b, "  %-11s %s\n", sub.Name(), sub.Short)
			}
		}
	}
}
