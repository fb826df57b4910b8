package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/internal/textkit/layout"
	"ponder/internal/transcript"
	"ponder/store/sqlite"
)

func (a *cli) threadCommand() *cobra.Command {
	cmd := groupCommands(&cobra.Command{
		Use:   "thread",
		Short: "List, show, copy and remove threads of the log",
		Long: `List, show, copy and remove threads. The log stores each conversation, session, research
and exchange as a thread of events. An ID may be shortened as long as it stays unique, with
or without thr_; "last" is the newest thread.`,
		Example: "ponder thread list\nponder thread show last\nponder thread export last -o thread.jsonl\nponder thread remove 01K",
		GroupID: groupLook,
	}, a.threadListCommand(), a.threadShowCommand(), a.threadExportCommand(), a.threadImportCommand(), a.threadForkCommand(),
		a.threadRemoveCommand(), a.threadReleaseCommand(), a.threadWorkCommand())
	for _, sub := range cmd.Commands() {
		if sub.Name() != "list" && sub.Name() != "import" {
			sub.ValidArgsFunction = a.completeThreads("")
		}
	}
	return cmd
}

func (a *cli) threadListCommand() *cobra.Command {
	var kind string
	var limit int
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List threads, newest first",
		Example: "ponder thread list --kind session\nponder thread list --json",
		Args:    requireNoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.threadList(cmd.Context(), ponder.Kind(kind), limit)
		},
	}
	cmd.Flags().StringVar(&kind, "kind", "", "only this `kind`: conversation, session, research, subconscious, or exchange (hidden by default)")
	cmd.Flags().IntVar(&limit, "limit", 20, "maximum `number` of threads")
	return cmd
}

func (a *cli) threadList(ctx context.Context, kind ponder.Kind, limit int) error {
	switch kind {
	case "", ponder.KindConversation, ponder.KindSession, ponder.KindResearch, ponder.KindSubconscious, ponder.KindExchange:
	default:
		return usagef("--kind: %q is unknown: use conversation, session, research, subconscious or exchange", truncate(string(kind), 20))
	}
	if limit < 1 {
		return usagef("--limit: must be 1 or more")
	}
	store, err := a.OpenReadOnly(ctx)
	if errors.Is(err, app.ErrNothingYet) {
		a.printNote("%s", a.errorLine(app.ErrNothingYet))
		return nil
	}
	if err != nil {
		return err
	}
	defer store.Close()
	filter := ponder.Filter{Kind: kind, Limit: limit}
	if kind == "" {
		filter.Without = ponder.KindExchange
	}
	list, err := store.List(ctx, filter)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	short := make(map[ponder.ThreadID]string, len(list))
	for _, info := range list {
		if short[info.ID], err = app.ShortID(ctx, store, info.ID); err != nil {
			return err
		}
	}
	head := []string{"ID", "KIND", "STATUS", "EVENTS", "CHANGED", "TITLE"}
	return printList(a, list, "there are no such threads", head, func(info ponder.Info) []string {
		return []string{short[info.ID], string(info.Kind), app.StatusText(info), textkit.Number(int(info.Head)), textkit.Ago(info.Updated, time.Now()), truncate(info.Title, 50)}
	})
}

func (a *cli) threadShowCommand() *cobra.Command {
	var internal, thoughts bool
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show the events of a thread",
		Example: "ponder thread show last\nponder thread show last --thoughts\nponder thread show last --internal --json",
		Args:    requireID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.threadShow(cmd.Context(), args[0], func(ev ponder.Event) bool {
				return !ev.Internal || internal || thoughts && !strings.HasPrefix(ev.Body.Type(), "call_")
			})
		},
	}
	cmd.Flags().BoolVar(&internal, "internal", false, "include internal events, such as model calls")
	cmd.Flags().BoolVar(&thoughts, "thoughts", false, "include internal events except model calls")
	return cmd
}

func (a *cli) threadShow(ctx context.Context, name string, wanted func(ponder.Event) bool) error {
	store, err := a.OpenReadOnly(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	info, err := a.FindThread(ctx, store, name, "")
	if err != nil {
		return err
	}
	if !a.flags.json {
		a.printf("%s, %s, %s: %s\n\n", info.ID, info.Kind, app.StatusText(info), oneLine(info.Title))
	}
	var read transcript.SourceList
	asked, err := transcript.ReadApprovals(store.Events(ctx, info.ID, 0))
	if err != nil {
		return fmt.Errorf("read %s: %w", info.ID, err)
	}
	for ev, err := range store.Events(ctx, info.ID, 0) {
		if err != nil {
			return fmt.Errorf("read %s: %w", info.ID, err)
		}
		read.Apply(ev)
		if !wanted(ev) {
			continue
		}
		if a.flags.json {
			if err := a.printJSON(ev); err != nil {
				return err
			}
			continue
		}
		row := []string{fmt.Sprintf("%5d", ev.Seq), ev.Time.Local().Format("15:04:05"), fmt.Sprintf("%-17s", ev.Body.Type()), oneLine(truncate(asked.Gist(ev, time.Now()), 160))}
		fmt.Fprint(a.out, layout.Columns([][]string{row}, a.terminalWidth()))
	}
	if text := read.Text(); text != "" && !a.flags.json {
		a.printf("\n%s", text)
	}
	return nil
}

func (a *cli) threadExportCommand() *cobra.Command {
	var file string
	var internal bool
	cmd := &cobra.Command{
		Use:     "export ID",
		Short:   "Export a thread as JSON Lines",
		Long:    "Write a thread as JSON Lines: a header, then one event per line, oldest first.",
		Example: "ponder thread export last -o thread.jsonl\nponder thread export last --internal | jq .type",
		Args:    requireID,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			store, err := a.OpenReadOnly(ctx)
			if err != nil {
				return err
			}
			defer store.Close()
			info, err := a.FindThread(ctx, store, args[0], "")
			if err != nil {
				return err
			}
			return a.exportThread(ctx, store, info, file, internal)
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this `file`")
	cmd.Flags().BoolVar(&internal, "internal", false, "include internal events, such as model calls")
	return cmd
}

// exportThread writes a thread as JSON Lines: see docs/log-format.md.
func (a *cli) exportThread(ctx context.Context, log ponder.Log, info ponder.Info, file string, internal bool) error {
	var out bytes.Buffer
	if err := transcript.Write(&out, info.Thread, log.Events(ctx, info.ID, 0), internal); err != nil {
		return fmt.Errorf("export %s: %w", info.ID, err)
	}
	return a.writeResult(file, out.Bytes())
}

func (a *cli) threadImportCommand() *cobra.Command {
	var anew bool
	cmd := &cobra.Command{
		Use:   "import FILE|-...",
		Short: "Import threads from files",
		Long: `Import one thread from each file of JSON Lines. "thread export" writes such files; files of
other programs, without seq, work too. - is standard input. The thread keeps the ID and all
content of the file. Ponder stores unknown fields in the data of their event, and an export
restores them. An identical thread that already exists does not change. An import starts no
work on a thread.

If a line of any file is not JSON, the error names the line and nothing is imported.`,
		Example: `ponder thread import thread.jsonl
ponder thread import ~/old/threads/*.jsonl
ponder thread export last --internal | ponder --db copy.db thread import -`,
		Args: requireArgs(1, maxImports, "a file, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.threadImport(cmd.Context(), args, anew)
		},
	}
	cmd.Flags().BoolVar(&anew, "new", false, "import each thread under a new ID, beside an existing one")
	return cmd
}

// maxImports is the maximal number of files per command.
const maxImports = 10_000

func (a *cli) threadImport(ctx context.Context, files []string, anew bool) error {
	r := app.Import{Files: files, Stdin: a.cancelableInput(ctx), NewID: anew}
	return a.ImportThreads(ctx, r, func(v *app.ImportedThread) error {
		if a.flags.json {
			return a.printJSON(struct {
				ID      ponder.ThreadID `json:"id"`
				File    string          `json:"file"`
				Kind    ponder.Kind     `json:"kind"`
				Title   string          `json:"title,omitempty"`
				Events  int             `json:"events"`
				Foreign bool            `json:"foreign"`
				Here    bool            `json:"was_here"`
			}{v.Thread.ID, v.File, v.Thread.Kind, v.Thread.Title, v.Read, v.Foreign, v.Here})
		}
		a.printf("%s\n", v.Thread.ID)
		how, added := "is imported from", ""
		if v.Here {
			how = "already exists, as in"
		} else if n := len(v.Events) - v.Read; n > 0 {
			added = fmt.Sprintf(", with %d more for content missing in the file", n)
		}
		a.printNote("%s %s %s: a %s of %s%s", v.Thread.ID, how, v.Name(), v.Thread.Kind, textkit.Count(v.Read, "event", "events"), added)
		return nil
	})
}

func (a *cli) threadForkCommand() *cobra.Command {
	var at ponder.Seq
	var title string
	cmd := &cobra.Command{
		Use:   "fork ID",
		Short: "Create a thread from the start of another one",
		Long: `Create a thread with the events of another one up to --at. The other thread does not
change. The fork starts no work: a session is paused until "session resume"; a conversation
continues with the next message. To fork a session with changes, use "session fork".`,
		Example: `ponder thread fork last
ponder thread fork 01K --at 57 --title "The other supplier"
ponder ask --thread $(ponder thread fork last --at 12 --quiet) "And what if we wait?"`,
		Args: requireID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.threadFork(cmd.Context(), args[0], at, title)
		},
	}
	cmd.Flags().Var(eventFlag{&at, 1}, "at", "fork after the event with this `number` (default the newest)")
	cmd.Flags().StringVar(&title, "title", "", "`title` of the fork in lists")
	return cmd
}

func (a *cli) threadFork(ctx context.Context, name string, at ponder.Seq, title string) error {
	f, err := a.ForkThread(ctx, app.ThreadFork{Thread: name, At: at, Title: truncate(oneLine(title), app.MaxTitle)})
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(f)
	}
	a.printf("%s\n", f.ID)
	a.printNote("%s is forked from %s at event %d of %d", f.ID, f.From, f.At, f.Head)
	return nil
}

// threadWorkCommand is the hidden command that finishes the background work of a conversation.
func (a *cli) threadWorkCommand() *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:     "work ID",
		Short:   "Finish the background work of a conversation",
		Example: "ponder thread work last",
		Hidden:  true,
		Args:    requireID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.threadWork(cmd.Context(), args[0], f, cmd.Flags().Changed)
		},
	}
	f.addSourceFlags(cmd.Flags())
	return cmd
}

func (a *cli) threadWork(ctx context.Context, name string, f chatFlags, given func(string) bool) error {
	t, err := f.chatSetup(ctx, a, given)
	if err != nil {
		return err
	}
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	info, err := a.FindThread(ctx, store, name, ponder.KindConversation)
	if err != nil {
		return err
	}
	live := a.Broadcasts()
	defer live.Open(info.ID, 0)()
	thinker, err := a.ChatRunner(ctx, store, t, live.Add)
	if err != nil {
		return err
	}
	defer thinker.Close(ctx)
	if err := thinker.Work(ctx, info.ID); err != nil && !errors.Is(err, ponder.ErrHeld) {
		return err
	}
	return nil
}

func (a *cli) threadReleaseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "release ID",
		Short: "End the quarantine of a thread",
		Long: `End the quarantine of a thread, so that Ponder tries it again. Ponder no longer works on a
thread that crashed its process three times in a row; ` + "`ponder doctor`" + ` lists such threads with
the reason.`,
		Example: "ponder doctor\nponder thread release last",
		Args:    requireID,
		RunE: runWithArg(func(ctx context.Context, name string) error {
			store, err := a.OpenExisting(ctx)
			if err != nil {
				return err
			}
			defer store.Close()
			info, err := a.FindThread(ctx, store, name, "")
			if err != nil {
				return err
			}
			if !a.Crashes().Release(info.ID) {
				a.printNote("%s has no crashes", info.ID)
				return nil
			}
			a.printNote("released %s; a running server tries it again within 10 minutes", info.ID)
			return nil
		}),
	}
}

func (a *cli) threadRemoveCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "remove ID...",
		Short: "Remove threads permanently",
		Long: `Remove threads permanently, with all their events, the memories from them, and their
attachments. Ponder cancels running work first. Their cost stays in "ponder usage". Without
a terminal for the confirmation, --yes is required.`,
		Example: "ponder thread remove last\nponder thread remove 01K 01J --yes",
		Args:    requireArgs(1, maxImports, "an ID: `ponder thread list` shows them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.threadRemove(cmd.Context(), args, yes)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	return cmd
}

func (a *cli) threadRemove(ctx context.Context, names []string, yes bool) error {
	store, err := a.OpenExisting(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	var list []ponder.Info
	for _, name := range names {
		info, err := a.FindThread(ctx, store, name, "")
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(list, func(i ponder.Info) bool { return i.ID == info.ID }) {
			list = append(list, info)
		}
	}
	if !yes {
		if err := a.confirmRemoval(ctx, list); err != nil {
			return err
		}
	}
	for _, info := range list {
		if err := a.removeThread(ctx, store, info); err != nil {
			return err
		}
	}
	return nil
}

func (a *cli) confirmRemoval(ctx context.Context, list []ponder.Info) error {
	in, ok := a.in.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || a.flags.json {
		return app.Invalidf("", "to remove %s permanently, add --yes", textkit.Count(len(list), "thread", "threads"))
	}
	for _, info := range list {
		fmt.Fprintf(a.log, "%s  %s of %s, %s: %s\n", info.ID, info.Kind, textkit.Count(int(info.Head), "event", "events"), textkit.Ago(info.Updated, time.Now()), truncate(oneLine(info.Title), 60))
	}
	fmt.Fprintf(a.log, "Remove %s permanently? [y/N] ", textkit.Count(len(list), "thread", "threads"))
	answer, err := bufio.NewReader(a.cancelableInput(ctx)).ReadString('\n')
	if err != nil {
		fmt.Fprintln(a.log)
		return failure{exitFailed, errors.New("cancelled; nothing was removed")}
	}
	if word := strings.ToLower(strings.TrimSpace(answer)); word != "y" && word != "yes" {
		return failure{exitFailed, errors.New("cancelled; nothing was removed")}
	}
	return nil
}

func (a *cli) removeThread(ctx context.Context, store *sqlite.Store, info ponder.Info) error {
	forgotten, files, err := a.EraseThread(ctx, store, info, store.Remove)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(struct {
			ID        ponder.ThreadID `json:"id"`
			Removed   bool            `json:"removed"`
			Forgotten int             `json:"forgotten"`
			Files     int             `json:"files"`
		}{info.ID, true, forgotten, files})
	}
	also := ""
	if forgotten > 0 {
		also = ", and its memories"
	}
	a.printNote("removed %s%s", info.ID, also)
	return nil
}
