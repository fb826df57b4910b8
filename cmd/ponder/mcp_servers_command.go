package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *cli) toolCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "tool",
		Short:   "See which tools MCP servers have for conversations",
		Long:    "See which MCP servers are configured, whether they answer, and which of their tools conversations and research have.",
		Example: "ponder tool list",
		GroupID: groupSetUp,
		Args:    cobra.ArbitraryArgs,
		RunE:    onlyGroups,
	}
	cmd.AddCommand(a.toolListCommand())
	return cmd
}

func (a *cli) toolListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Say which MCP servers answer, and with which tools",
		Long: `Say which MCP servers answer, and with which tools. Servers are configured in the user's
own file:

  [mcp.servers.files]
  command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/anna/notes"]
  reads = ["read_text_file", "search_files"]

  [mcp.servers.desk]
  url = "https://desk.example/mcp"
  token_env = "DESK_TOKEN"

A tool looks only if its server has read_only = true or names it in reads, whatever the
server says of it. Any other may change something: it is used once the user has confirmed
the very call, and in conversations alone.

Exit codes: 0 all answer, 2 a mistake in the configuration, 4 a server does not answer.`,
		Example: "ponder tool list\nponder tool list --json",
		Args:    takeNone,
		RunE:    withNone(a.toolList),
	}
}

func (a *cli) toolList(ctx context.Context) error {
	list, err := a.LookAtMCPServers(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		a.note("no MCP server is configured: `ponder tool list --help` says how")
		return nil
	}
	lacks := false
	for _, s := range list {
		lacks = lacks || s.Error != ""
		if err := a.result(s, s.Text()); err != nil {
			return err
		}
	}
	if lacks {
		return failure{code: notReady}
	}
	return ctx.Err()
}
