package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandsOf returns the names of what a user may run below a command.
func commandsOf(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

func flagsOf(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return names
}
