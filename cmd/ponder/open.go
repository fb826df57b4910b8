package main

import (
	"github.com/spf13/cobra"

	"ponder/internal/server"
)

func (a *cli) openCommand() *cobra.Command {
	var address bool
	cmd := &cobra.Command{
		Use:   "open",
		Short: "Open the web page of the running server",
		Long: `Open the web page of the server that runs on this machine for the database. The page is
signed in: its address contains a code that is valid once, for two minutes. Without a
running server, start one with "ponder serve --open".`,
		Example: "ponder open\nponder open --print",
		GroupID: groupLook,
		Args:    requireNoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := a.Config(); err != nil {
				return err
			}
			s, err := server.FindServer(cmd.Context(), a.App)
			if err != nil {
				return err
			}
			p := s.OpenPage(cmd.Context(), !address)
			return a.printResult(p, p.Text()+"\n")
		},
	}
	cmd.Flags().BoolVar(&address, "print", false, "print the address instead of opening it")
	return cmd
}
