package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat/mcp"
	"ponder/internal/page"
	"ponder/internal/process"
	"ponder/internal/server"
)

type serveFlags struct {
	listen      string
	printConfig bool
	noMind      bool
	open        bool
}

func (a *cli) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the HTTP server until Ctrl-C",
		Long: `Run the HTTP server until Ctrl-C. Its web page shows sessions, research, conversations,
memory and the subconscious: --open opens it. The API offers the same to programs, also as
live streams. It also continues sessions that other commands
start with --detach on the same database, sessions of killed processes, and scheduled
research. /docs shows
all routes, /openapi.json describes them, /metrics exports metrics. The server logs errors to
standard error; --log-level sets another level.

Without a token, the server listens only on this machine. Set a token in PONDER_TOKEN, or
for several programs and owners in [serve.tokens.NAME] of the configuration. Each request
then needs it: Authorization: Bearer TOKEN. With serve.mind, the server also runs the
subconscious.

After a stop signal, the exit code is 0. Running sessions are paused, and the next serve
continues them.`,
		Example: `ponder serve --open
ponder serve
PONDER_TOKEN=... ponder serve --listen 0.0.0.0:8744 --log-level info
ponder serve --print-config`,
		GroupID: groupSetUp,
		Args:    requireNoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runServe(cmd.Context(), f)
		},
	}
	cmd.Flags().StringVar(&f.listen, "listen", "", "`address` to listen on (default 127.0.0.1:8744)")
	cmd.Flags().BoolVar(&f.open, "open", false, "open the web page in a browser")
	cmd.Flags().BoolVar(&f.printConfig, "print-config", false, "print the configuration without secrets and exit")
	cmd.Flags().BoolVar(&f.noMind, "no-mind", false, "do not run the subconscious, even with serve.mind")
	return cmd
}

func (a *cli) runServe(ctx context.Context, f serveFlags) error {
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	if cfg.LogLevel == "" { // answers refer callers to the log
		if err := a.setLogLevel("error"); err != nil {
			return err
		}
	}
	if f.listen != "" {
		cfg.Serve.Listen = f.listen
	}
	guard, err := app.AuthConfig(cfg)
	if err != nil {
		return err
	}
	if f.printConfig {
		a.printf("%s%s", cfg.Text(), guard.Text())
		return nil
	}
	defer process.RelaxGC()()
	address := cfg.Serve.Address()
	if err := guard.CheckListen(address); err != nil {
		code := app.Invalid
		if errors.Is(err, auth.ErrOpen) || errors.Is(err, auth.ErrWeak) {
			code = app.NotReady
		}
		return app.Errorf(code, "", "%w", err)
	}
	listener, err := server.Listen(ctx, a.App, address)
	if err != nil {
		return err
	}
	defer listener.Close()
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	hosts := &mcp.Hosts{}
	s, err := a.forHosts(hosts).NewService(ctx, store, true)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	web := &server.Server{
		Service: s, Hosts: hosts, NoMind: f.noMind, Version: readBuildVersion().Version, OnInterrupt: a.interrupts.setGraceful,
		Page: page.Files(), Ready: func(at string) error { return a.printAddress(at, s.DatabasePath(), len(guard.Tokens) > 0) },
	}
	if f.open {
		web.Opened = func(p server.OpenResult) { a.printNote("%s", p.Text()) }
	}
	err = web.ServeListener(ctx, listener, guard)
	s.Close(ctx)
	return errors.Join(err, store.Close())
}

func (a *cli) forHosts(hosts *mcp.Hosts) *cli {
	mine := *a
	mine.flags.quiet, mine.App = true, a.Serve(app.ModelHost{Name: mcp.Host, Provider: hosts})
	return &mine
}

func (a *cli) printAddress(at, database string, token bool) error {
	if a.flags.json {
		return a.printJSON(map[string]any{"address": at, "pid": os.Getpid(), "database": database})
	}
	needs := ""
	if token {
		needs = `-H "Authorization: Bearer $PONDER_TOKEN" `
	}
	a.printf("serving at %s: curl %s%s/api/thinking/ lists sessions, %s/docs shows all routes, a browser shows the page; Ctrl-C stops it\n", at, needs, at, at)
	return nil
}
