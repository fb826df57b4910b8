package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"ponder"
	"ponder/client"
	"ponder/internal/app"
	"ponder/internal/placement"
	"ponder/internal/server"
	"ponder/store/sqlite"
)

// How long a worker has to begin, and how often is looked whether it has.
const (
	beginTime = 10 * time.Second
	lookEvery = 20 * time.Millisecond
)

// An elsewhere is where a session goes on without this process.
type elsewhere struct {
	server *server.LocalServer // nil: in a process of its own
	pid    int
	log    string // that the process writes
}

// detach leaves a session to `ponder serve`, or to a process in the background, and prints
// the id.
func (a *cli) detach(ctx context.Context, store ponder.Store, id ponder.ThreadID) error {
	e, err := a.leaveTo(ctx, store, id, "")
	if err != nil {
		return err
	}
	return a.sayWhere(id, e)
}

// leaveTo leaves a session that is to go on to `ponder serve`, if that takes it, or to a
// process in the background. A model, unless it is empty, thinks from now on.
func (a *cli) leaveTo(ctx context.Context, store ponder.Store, id ponder.ThreadID, model string) (e elsewhere, err error) {
	if s := a.handToServer(ctx, store, id, model); s != nil {
		return elsewhere{server: s, pid: s.PID}, nil
	}
	if ctx.Err() != nil {
		return e, context.Cause(ctx)
	}
	e.log, e.pid, err = a.launch(ctx, store, id, model)
	return e, err
}

func (a *cli) sayWhere(id ponder.ThreadID, e elsewhere) error {
	if a.flags.json {
		o := map[string]any{"id": id, "pid": e.pid}
		if e.server != nil {
			o["server"] = e.server.Address
		} else {
			o["log"] = e.log
		}
		return a.object(o)
	}
	a.printf("%s\n", id)
	if e.server != nil {
		a.note("`ponder serve` (process %d) thinks about it; to look on: %s", e.pid, a.command("session watch", id))
		return nil
	}
	a.note("thinking in the background; to look on: %s", a.command("session watch", id))
	return nil
}

// launch starts a process that works on a session and outlives this one, with a model
// unless that is empty, and waits until it has begun. It returns where the process writes
// its log, and its number.
func (a *cli) launch(ctx context.Context, store ponder.Store, id ponder.ThreadID, model string) (logFile string, pid int, err error) {
	line := []string{"session", "resume", string(id), "--quiet"}
	if model != "" {
		line = append(line, "--model", model)
	}
	logFile, worker, err := a.worker(ctx, id, line...)
	if err != nil {
		return "", 0, fmt.Errorf("start a worker for %s: %w", id, err)
	}
	err = awaitWorker(ctx, worker, logFile, "the worker for "+string(id), func() (bool, error) {
		info, err := store.Thread(ctx, id)
		if err != nil {
			return false, fmt.Errorf("look after %s: %w", id, err)
		}
		return hasBegun(info), nil
	})
	return logFile, worker.Process.Pid, err
}

// awaitWorker blocks until a process in the background has begun. Its errors name who that is.
func awaitWorker(ctx context.Context, worker *exec.Cmd, logFile, who string, begun func() (bool, error)) error {
	ended := make(chan error, 1)
	go func() { ended <- worker.Wait() }()
	ok, err := poll(ctx, beginTime, func() (bool, error) {
		gone := len(ended) > 0
		ok, err := begun()
		if gone && !ok && err == nil {
			err = fmt.Errorf("%s has ended: %s", who, lastLine(logFile))
		}
		return ok, err
	})
	if !ok && err == nil {
		err = fmt.Errorf("%s has not begun in %s: see %s", who, beginTime, logFile)
	}
	return err
}

// poll calls done every few milliseconds until it reports true. It reports false if that took
// too long.
func poll(ctx context.Context, limit time.Duration, done func() (bool, error)) (bool, error) {
	late := time.NewTimer(limit)
	defer late.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return ok, err
		}
		select {
		case <-look.C:
		case <-late.C:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// hasBegun reports whether a process thinks about a session, or has. Who still holds one
// that is paused is about to let go of it.
func hasBegun(info ponder.Info) bool {
	return info.Held && info.Status == ponder.Thinking || info.Status.Ended()
}

// logFolder returns the folder where processes in the background write their logs, and makes it.
func (a *cli) logFolder() (string, error) {
	dir, err := a.Settings.StateDir()
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// canDetach returns an error if a process in the background could not write its log. Whoever
// begins something for one asks before.
func (a *cli) canDetach() error {
	dir, err := a.logFolder()
	probe := (*os.File)(nil)
	if err == nil {
		probe, err = os.CreateTemp(dir, ".ponder-*")
	}
	if err != nil {
		return usagef("--detach: the process in the background cannot write its log: %w: name another folder with XDG_STATE_HOME", err)
	}
	probe.Close()
	return os.Remove(probe.Name())
}

// worker starts a process that outlives this one, and does for a thread what the
// words of a command line say.
func (a *cli) worker(ctx context.Context, id ponder.ThreadID, line ...string) (logFile string, worker *exec.Cmd, err error) {
	dir, err := a.logFolder()
	if err != nil {
		return "", nil, err
	}
	logFile = filepath.Join(dir, string(id)+".log")
	out, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", nil, err
	}
	defer out.Close()
	program, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	db, err := filepath.Abs(a.Settings.DB)
	if err != nil {
		return "", nil, err
	}
	args := append(line, "--db", db)
	if a.Options.Config != "" {
		args = append(args, "--config", a.Options.Config)
	}
	if a.Options.LogLevel != "" {
		args = append(args, "--log-level", a.Options.LogLevel)
	}
	worker = exec.CommandContext(context.WithoutCancel(ctx), program, args...)
	worker.Stdout, worker.Stderr = out, out
	worker.SysProcAttr = apart()
	return logFile, worker, worker.Start()
}

func lastLine(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return "see " + file
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > 2000 {
		f.Seek(-2000, io.SeekEnd)
	}
	text, _ := io.ReadAll(io.LimitReader(f, 2000))
	rows := strings.Split(strings.TrimSpace(string(text)), "\n")
	if last := oneLine(strings.TrimPrefix(rows[len(rows)-1], "ponder: ")); last != "" {
		return last
	}
	return "see " + file
}

// Times of what is asked of a server by the commands.
const (
	takeTime = 5 * time.Second // to begin with what is left to it in the queue
)

// A partner is the server of the command's database, and a client of it.
type partner struct {
	server.LocalServer
	*client.Client
	token bool // it is shown one
}

// served returns the server of the command's database, if one runs and says that it is
// the one that is looked for. Only then it is shown the token of PONDER_TOKEN.
func (a *cli) served(ctx context.Context) (*partner, bool) {
	db := a.DatabasePath()
	for _, s := range server.LocalServers(a.App) {
		if db == "" || s.Database != db || !s.Answers(ctx) {
			continue
		}
		token := os.Getenv("PONDER_TOKEN")
		p := &partner{LocalServer: s, Client: client.New(s.Reach(), token), token: token != ""}
		p.HTTP.Transport = server.Direct
		p.Patience = -1 // there is another way
		return p, true
	}
	return nil, false
}

// handToServer leaves a thread to `ponder serve`, if that runs on the database and takes
// it, and returns who has it: nil if nobody. A model, unless it is empty, thinks from now
// on.
//
// The server is asked, so that it begins at once or says why not. If it is not for who
// asks, for want of the right token, the thread is put into the queue of those that
// serve, which takes no token and no model.
func (a *cli) handToServer(ctx context.Context, store ponder.Store, id ponder.ThreadID, model string) *server.LocalServer {
	s, ok := a.served(ctx)
	if !ok {
		return nil
	}
	short, cancel := context.WithTimeout(ctx, server.GiveTime)
	defer cancel()
	err := s.Work(short, string(id), model)
	if err == nil {
		return &s.LocalServer
	}
	if ctx.Err() != nil {
		return nil
	}
	if !isStranger(err) {
		a.note("`ponder serve` (process %d) does not take it: %s", s.PID, reasonWhy(err))
		return nil
	}
	if s.token {
		a.note("`ponder serve` (process %d) refuses the token in PONDER_TOKEN: %s", s.PID, whyStranger(err))
	}
	if model == "" && a.enqueued(ctx, store, id) {
		return &s.LocalServer
	}
	return nil
}

// isStranger reports whether a server has refused for who asks, not for what is asked:
// the token is missing, wrong, of another owner, not for that, or used too often.
func isStranger(err error) bool {
	var p *client.Problem
	if !errors.As(err, &p) {
		return false
	}
	switch p.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests, http.StatusPaymentRequired:
		return true
	}
	return false
}

// whyStranger says why a server refuses a token.
func whyStranger(err error) string {
	switch {
	case errors.Is(err, &client.Problem{Status: http.StatusUnauthorized}):
		return "it knows none like that"
	case errors.Is(err, &client.Problem{Status: http.StatusNotFound}):
		return "what the commands make is not of its owner"
	}
	return reasonWhy(err)
}

// reasonWhy returns what a server says in a refusal, without how it was asked.
func reasonWhy(err error) string {
	var p *client.Problem
	if errors.As(err, &p) {
		return clip(oneLine(p.Error()), 200)
	}
	return clip(oneLine(reasonOf(err).Error()), 200)
}

// enqueued has a thread worked on by a process that serves, and reports whether one does
// before long. What is left to do on a conversation is only put into the queue.
func (a *cli) enqueued(ctx context.Context, store ponder.Store, id ponder.ThreadID) bool {
	file, is := store.(*sqlite.Store)
	if !is || a.enqueue(ctx, file, id) != nil {
		return false
	}
	taken, err := takenOn(ctx, store, id)
	return taken && err == nil
}

// enqueue has a thread worked on by a process that serves.
func (a *cli) enqueue(ctx context.Context, store *sqlite.Store, id ponder.ThreadID) error {
	p, err := placement.Open(ctx, placement.Config{Store: store, DB: store.DB(), Node: placement.Self(), Work: func(context.Context, ponder.ThreadID) error {
		return errors.New("this process does not work")
	}})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), app.CloseTime)
		defer cancel()
		_ = p.Close(ctx) // what is enqueued is kept
	}()
	return p.Enqueue(ctx, id, a.Owner(), 0)
}

// takenOn reports whether a thread is worked on before long.
func takenOn(ctx context.Context, store ponder.Threads, id ponder.ThreadID) (bool, error) {
	return poll(ctx, takeTime, func() (bool, error) {
		info, err := store.Thread(ctx, id)
		if err != nil {
			return false, fmt.Errorf("look after %s: %w", id, err)
		}
		return hasBegun(info) || info.Kind == ponder.KindConversation, nil
	})
}
