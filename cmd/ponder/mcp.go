package main

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/mcp"
)

func (a *cli) mcpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Be the tools of an editor or a chat, over the Model Context Protocol",
		Long: `Be the tools of an editor or a chat, over the Model Context Protocol, on standard input
and output, until standard input is closed. The program that has the tools starts it.
What is being thought then is paused where it stands, and goes on with the next serve, or
with ponder session resume.

Without a model, the tool ponder_step thinks with the model of the program that asks. All
other commands work beside it, on the same database. ponder serve answers in the same
protocol at /mcp.`,
		Example: `claude mcp add ponder -- ponder mcp
ponder mcp --log-level info 2> ponder-mcp.log`,
		GroupID: groupSetUp,
		Args:    requireNoArgs,
		RunE:    runWithoutArgs(a.runMCP),
	}
}

func (a *cli) runMCP(ctx context.Context) error {
	if _, err := a.Config(); err != nil {
		return err
	}
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	hosts := &mcp.Hosts{}
	s, err := a.forHosts(hosts).NewService(ctx, store, false)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	gone, stop := context.WithCancel(ctx)
	desk := &compat.Dispatcher{Store: s.Log, Hub: s.Hub, Service: s, Aliases: s.Settings.Serve.Aliases, Gone: gone, Logger: slog.Default()}
	tools := mcp.New(mcp.Config{Desk: desk, Hosts: hosts, Version: readBuildVersion().Version})
	ended := make(chan error, 1)
	go func() {
		ended <- tools.ServeStream(gone, auth.Caller{Owner: a.Owner(), Scopes: auth.Scopes()}, io.NopCloser(a.in), nopCloseWriter{a.out})
	}()
	select {
	case err = <-ended:
	case <-ctx.Done(): // standard input cannot be interrupted
	}
	stop()
	s.Close(ctx)
	return errors.Join(err, store.Close())
}

// A nopCloseWriter is a writer that its user must not close.
type nopCloseWriter struct{ io.Writer }

func (nopCloseWriter) Close() error { return nil }

func (a *cli) toolCommand() *cobra.Command {
	return groupCommands(&cobra.Command{
		Use:     "tool",
		Short:   "See which tools MCP servers have for conversations",
		Long:    "See which MCP servers are configured, whether they answer, and which of their tools conversations and research have.",
		Example: "ponder tool list",
		GroupID: groupSetUp,
	}, a.toolListCommand())
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
		Args:    requireNoArgs,
		RunE:    runWithoutArgs(a.toolList),
	}
}

func (a *cli) toolList(ctx context.Context) error {
	list, err := a.InspectMCPServers(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		a.printNote("no MCP server is configured: `ponder tool list --help` says how")
		return nil
	}
	lacks := false
	for _, s := range list {
		lacks = lacks || s.Error != ""
		if err := a.printResult(s, s.Text()); err != nil {
			return err
		}
	}
	if lacks {
		return failure{code: exitNotReady}
	}
	return ctx.Err()
}
