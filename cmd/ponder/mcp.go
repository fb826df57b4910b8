package main

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/acp"
	"ponder/internal/compat/mcp"
)

func (a *cli) mcpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Run an MCP server on standard input and output",
		Long: `Run a server of the Model Context Protocol (MCP) on standard input and output. An editor
or a chat program starts it and uses Ponder's tools. It ends when standard input is closed.
Running sessions are then paused; ponder serve or ponder session resume continues them.

Without a model, the tool ponder_step thinks with the model of the calling program. All
other commands can use the same database at the same time. ponder serve offers the same
protocol at /mcp.`,
		Example: `claude mcp add ponder -- ponder mcp
ponder mcp --log-level info 2> ponder-mcp.log`,
		GroupID: groupSetUp,
		Args:    requireNoArgs,
		RunE:    runWithoutArgs(a.runMCP),
	}
}

func (a *cli) runMCP(ctx context.Context) error {
	hosts := &mcp.Hosts{}
	return a.serveStdio(ctx, hosts, func(ctx context.Context, desk *compat.Dispatcher, caller auth.Caller) error {
		tools := mcp.New(mcp.Config{Desk: desk, Hosts: hosts, Version: readBuildVersion().Version})
		return tools.ServeStream(ctx, caller, io.NopCloser(a.in), nopCloseWriter{a.out})
	})
}

func (a *cli) acpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "acp",
		Short:   "Run an ACP agent on standard input and output",
		Long:    acp.Help,
		Example: "ponder acp\nponder acp --log-level info 2> ponder-acp.log",
		GroupID: groupSetUp,
		Args:    requireNoArgs,
		RunE: runWithoutArgs(func(ctx context.Context) error {
			return a.serveStdio(ctx, &mcp.Hosts{}, func(ctx context.Context, desk *compat.Dispatcher, caller auth.Caller) error {
				return acp.Serve(ctx, acp.Config{Desk: desk, Caller: caller, Version: readBuildVersion().Version}, a.in, a.out)
			})
		}),
	}
}

// serveStdio calls serve with a dispatcher for one client. Work ends with it.
func (a *cli) serveStdio(ctx context.Context, hosts *mcp.Hosts, serve func(context.Context, *compat.Dispatcher, auth.Caller) error) error {
	if _, err := a.Config(); err != nil {
		return err
	}
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	s, err := a.forHosts(hosts).NewService(ctx, store, false)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	gone, stop := context.WithCancel(ctx)
	desk := &compat.Dispatcher{Store: s.Public, Hub: s.Hub, Service: s, Aliases: s.Settings.Serve.Aliases, Gone: gone, Logger: slog.Default()}
	ended := make(chan error, 1)
	go func() { ended <- serve(gone, desk, auth.Caller{Owner: a.Owner(), Scopes: auth.Scopes()}) }()
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
		Short:   "Show the tools of MCP servers for conversations",
		Long:    "Show the configured MCP servers, whether each answers, and the tools that conversations\nand research can use.",
		Example: "ponder tool list",
		GroupID: groupSetUp,
	}, a.toolListCommand())
}

func (a *cli) toolListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List MCP servers and their tools",
		Long: `List MCP servers, whether each answers, and their tools. Configure servers in your
configuration file:

  [mcp.servers.files]
  command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/anna/notes"]
  reads = ["read_text_file", "search_files"]

  [mcp.servers.desk]
  url = "https://desk.example/mcp"
  token_env = "DESK_TOKEN"

A tool counts as read-only if its server has read_only = true or lists it in reads. What
the server itself declares does not count. All other tools may change something: only
conversations use them, and the user confirms each call.

Descriptions of tools are text of their server. Until its setting reviewed has the digest that
--json shows beside them, a model needs your approval for a page that neither you nor a search named.

Exit codes: 0 all servers answer, 2 wrong configuration, 4 a server does not answer.`,
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
		a.printNote("no MCP server is configured: `ponder tool list --help` explains how")
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
