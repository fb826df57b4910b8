package main

import (
	"context"

	"ponder/internal/app"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/mode/session"
	"ponder/store/sqlite"
)

func (a *cli) sessionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Look at sessions and research, pause them and go on",
		Long: `Look at thinking sessions and research, pause them and go on. An ID may be shortened as
long as it stays unique, with or without thr_; "last" is the newest of them.`,
		Example: `ponder session list
ponder session resume last
ponder session export last --format markdown -o report.md`,
		GroupID: groupThink,
		Args:    cobra.ArbitraryArgs,
		RunE:    onlyGroups,
	}
	cmd.AddCommand(a.sessionListCommand(), a.sessionShowCommand(), a.sessionWatchCommand(), a.sessionPauseCommand(),
		a.sessionResumeCommand(), a.sessionCancelCommand(), a.sessionExportCommand(), a.sessionSteerCommand(), a.sessionForkCommand(),
		a.sessionCompareCommand(), a.sessionResolveCommand())
	for _, sub := range cmd.Commands() {
		if sub.ValidArgsFunction == nil && sub.Name() != "list" {
			sub.ValidArgsFunction = a.completeThreads(ponder.KindSession)
		}
	}
	return cmd
}

// takeID is the argument of commands about one session or thread.
func takeID(cmd *cobra.Command, args []string) error {
	return take(1, 1, `one id, or "last"`)(cmd, args)
}

// openSession opens the database to write, and loads the session that a user means. The
// caller closes the store.
func (a *cli) openSession(ctx context.Context, name string) (*viewing, ponder.Info, *sqlite.Store, error) {
	store, err := a.OpenReadOnly(ctx) // makes no database for a wrong id
	if err != nil {
		return nil, ponder.Info{}, nil, err
	}
	store.Close()
	if store, err = a.OpenStore(ctx); err != nil {
		return nil, ponder.Info{}, nil, err
	}
	w, info, err := a.loadSession(ctx, store, name)
	if err != nil {
		store.Close()
		return nil, info, nil, err
	}
	return w, info, store, nil
}

// loadSession loads the session that a user means from a store.
func (a *cli) loadSession(ctx context.Context, store ponder.Store, name string) (*viewing, ponder.Info, error) {
	info, err := a.FindThread(ctx, store, name, ponder.KindSession)
	if err != nil {
		return nil, info, err
	}
	w := a.viewing(store, info.ID)
	if err := w.load(ctx); err != nil {
		return nil, info, err
	}
	return w, info, nil
}

// A sessionObject is a session as programs are shown it.
type sessionObject struct {
	session.Session
	Kind        ponder.Kind `json:"kind"`
	Title       string      `json:"title"`
	Interrupted bool        `json:"interrupted,omitempty"` // its process ended without a word
}

// objectOf returns a session as programs are shown it. One that no process holds
// does not think: it is paused, whatever its log says.
func objectOf(info ponder.Info, v session.View) sessionObject {
	o := sessionObject{Session: v.Session, Kind: info.Kind, Title: info.Title}
	if o.ID == "" { // nothing has been started on the thread
		o.ID, o.Question, o.Status, o.Created = info.ID, info.Title, info.Status, &info.Created
	}
	if app.IsInterrupted(info) {
		o.Status, o.Interrupted = ponder.Paused, true
	}
	return o
}

// statusOf returns the status of a thread in words.
func statusOf(info ponder.Info) string {
	if app.IsInterrupted(info) {
		return "paused (interrupted)"
	}
	return string(info.Status)
}
