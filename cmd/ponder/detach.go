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
	"ponder/internal/fileio"
	"ponder/internal/placement"
	"ponder/internal/server"
	"ponder/store/sqlite"
)

// How long a worker may take to start, and how often to check.
const (
	workerStartTimeout = 10 * time.Second
	pollInterval       = 20 * time.Millisecond
)

type handoffTarget struct {
	server *server.LocalServer // nil: a process started for it
	pid    int
	log    string // log file of the process
}

func (a *cli) detachSession(ctx context.Context, store ponder.Store, id ponder.ThreadID) error {
	e, err := a.handOff(ctx, store, id, "")
	if err != nil {
		return err
	}
	return a.printTarget(id, e)
}

// handOff passes a session to `ponder serve` or, if that refuses, to a background process. A
// non-empty model replaces the configured ones.
func (a *cli) handOff(ctx context.Context, store ponder.Store, id ponder.ThreadID, model string) (e handoffTarget, err error) {
	if a.IsTemporary() {
		return e, app.Invalidf("", "cannot continue in the background: the database ends with this command; use a file with --db")
	}
	if s := a.handOffToServer(ctx, store, id, model); s != nil {
		return handoffTarget{server: s, pid: s.PID}, nil
	}
	if ctx.Err() != nil {
		return e, context.Cause(ctx)
	}
	e.log, e.pid, err = a.startSessionWorker(ctx, store, id, model)
	return e, err
}

func (a *cli) printTarget(id ponder.ThreadID, e handoffTarget) error {
	if a.flags.json {
		o := map[string]any{"id": id, "pid": e.pid}
		if e.server != nil {
			o["server"] = e.server.Address
		} else {
			o["log"] = e.log
		}
		return a.printJSON(o)
	}
	a.printf("%s\n", id)
	if e.server != nil {
		a.printNote("`ponder serve` (process %d) runs it; to watch it: %s", e.pid, a.formatCommand("session watch", id))
		return nil
	}
	a.printNote("running in the background; to watch it: %s", a.formatCommand("session watch", id))
	return nil
}

// startSessionWorker starts a background process for a session, as handOff does, and waits until it works.
// It returns its log file and process id.
func (a *cli) startSessionWorker(ctx context.Context, store ponder.Store, id ponder.ThreadID, model string) (logFile string, pid int, err error) {
	line := []string{"session", "resume", string(id), "--quiet"}
	if model != "" {
		line = append(line, "--model", model)
	}
	logFile, worker, err := a.spawnWorker(ctx, id, line...)
	if err != nil {
		return "", 0, fmt.Errorf("start a worker for %s: %w", id, err)
	}
	err = awaitWorker(ctx, worker, logFile, "the worker for "+string(id), func() (bool, error) {
		info, err := store.Thread(ctx, id)
		if err != nil {
			return false, fmt.Errorf("read %s: %w", id, err)
		}
		return hasStarted(info), nil
	})
	return logFile, worker.Process.Pid, err
}

// awaitWorker blocks until begun reports true. Its errors call the worker who.
func awaitWorker(ctx context.Context, worker *exec.Cmd, logFile, who string, begun func() (bool, error)) error {
	ended := make(chan error, 1)
	go func() { ended <- worker.Wait() }()
	ok, err := pollUntil(ctx, workerStartTimeout, func() (bool, error) {
		gone := len(ended) > 0
		ok, err := begun()
		if gone && !ok && err == nil {
			err = fmt.Errorf("%s ended: %s", who, lastLine(logFile))
		}
		return ok, err
	})
	if !ok && err == nil {
		err = fmt.Errorf("%s did not start within %s: see %s", who, workerStartTimeout, logFile)
	}
	return err
}

// pollUntil calls done every few milliseconds until it reports true, or returns false after limit.
func pollUntil(ctx context.Context, limit time.Duration, done func() (bool, error)) (bool, error) {
	late := time.NewTimer(limit)
	defer late.Stop()
	look := time.NewTicker(pollInterval)
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

// hasStarted reports whether a process has started on a session that was to run. The holder of a
// paused session does not count: it is about to release it. A paused session without a holder has run
// up to a plan for approval, or a failure.
func hasStarted(info ponder.Info) bool {
	return info.Held && info.Status == ponder.Thinking || info.Status.Ended() || info.Status == ponder.Paused && !info.Held
}

func (a *cli) logFolder() (string, error) {
	dir, err := a.Settings.StateDir()
	if err != nil {
		return "", err
	}
	return dir, fileio.MakeStateDir(dir)
}

// canDetach returns an error if a background process could not write its log. Call it before
// creating work for one.
func (a *cli) canDetach() error {
	dir, err := a.logFolder()
	probe := (*os.File)(nil)
	if err == nil {
		probe, err = os.CreateTemp(dir, ".ponder-*")
	}
	if err != nil {
		return usagef("--detach: cannot write the log of the background process: %w: set XDG_STATE_HOME to another folder", err)
	}
	probe.Close()
	return os.Remove(probe.Name())
}

func (a *cli) spawnWorker(ctx context.Context, id ponder.ThreadID, line ...string) (logFile string, worker *exec.Cmd, err error) {
	dir, err := a.logFolder()
	if err != nil {
		return "", nil, err
	}
	logFile = filepath.Join(dir, string(id)+".log")
	out, err := fileio.OpenState(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY)
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
	worker.SysProcAttr = detachedProcAttr()
	return logFile, worker, worker.Start()
}

func lastLine(file string) string {
	f, err := fileio.OpenRegular(file)
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

const (
	queueStartTimeout = 5 * time.Second // to start work from the queue
)

type localServer struct {
	server.LocalServer
	*client.Client
	token bool
}

// findServer returns the server of the command's database, if one runs and proves its identity.
// Only such a server receives PONDER_TOKEN.
func (a *cli) findServer(ctx context.Context) (*localServer, bool) {
	db := a.DatabasePath()
	for _, s := range server.LocalServers(a.App) {
		if db == "" || s.Database != db || !s.IsResponding(ctx) {
			continue
		}
		token := os.Getenv("PONDER_TOKEN")
		p := &localServer{LocalServer: s, Client: client.New(s.LocalURL(), s.Token()), token: token != ""}
		p.HTTP.Transport = server.Direct
		p.RetryTime = -1
		return p, true
	}
	return nil, false
}

// handOffToServer passes a thread to `ponder serve` on the same database and returns the server,
// or nil. A non-empty model replaces the models.
//
// It asks the server directly, for an immediate start or a reason. If the server refuses the
// caller's token, it enqueues the thread, which needs no token and allows no model.
func (a *cli) handOffToServer(ctx context.Context, store ponder.Store, id ponder.ThreadID, model string) *server.LocalServer {
	s, ok := a.findServer(ctx)
	if !ok {
		return nil
	}
	short, cancel := context.WithTimeout(ctx, server.StartTimeout)
	defer cancel()
	err := s.Work(short, string(id), model)
	if err == nil {
		return &s.LocalServer
	}
	if ctx.Err() != nil {
		return nil
	}
	if !isAuthRefusal(err) {
		a.printNote("`ponder serve` (process %d) does not accept it: %s", s.PID, clientErrorText(err))
		return nil
	}
	if s.token {
		a.printNote("`ponder serve` (process %d) refuses the token in PONDER_TOKEN: %s", s.PID, authRefusalReason(err))
	}
	if model == "" && a.tryEnqueue(ctx, store, id) {
		return &s.LocalServer
	}
	return nil
}

// isAuthRefusal reports whether a server refused the caller and not the request. Then the
// token is missing, wrong, of another owner, without the right, or over its limit.
func isAuthRefusal(err error) bool {
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

func authRefusalReason(err error) string {
	switch {
	case errors.Is(err, &client.Problem{Status: http.StatusUnauthorized}):
		return "unknown token"
	case errors.Is(err, &client.Problem{Status: http.StatusNotFound}):
		return "the token belongs to another owner"
	}
	return clientErrorText(err)
}

func clientErrorText(err error) string {
	var p *client.Problem
	if errors.As(err, &p) {
		return truncate(oneLine(p.Error()), 200)
	}
	return truncate(oneLine(server.NetworkCause(err).Error()), 200)
}

// tryEnqueue enqueues a thread for a serving process, and reports whether one starts soon. It
// does not wait for remaining work of a conversation.
func (a *cli) tryEnqueue(ctx context.Context, store ponder.Store, id ponder.ThreadID) bool {
	file, is := store.(*sqlite.Store)
	if !is || a.enqueueThread(ctx, file, id) != nil {
		return false
	}
	taken, err := awaitTaken(ctx, store, id)
	return taken && err == nil
}

func (a *cli) enqueueThread(ctx context.Context, store *sqlite.Store, id ponder.ThreadID) error {
	p, err := placement.Open(ctx, placement.Config{Store: store, DB: store.DB(), Node: placement.CurrentNode(), Work: func(context.Context, ponder.ThreadID) error {
		return errors.New("this process only queues work")
	}})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), app.CloseTime)
		defer cancel()
		_ = p.Close(ctx) // the queue keeps the entry
	}()
	return p.Enqueue(ctx, id, a.Owner(), 0)
}

func awaitTaken(ctx context.Context, store ponder.Threads, id ponder.ThreadID) (bool, error) {
	return pollUntil(ctx, queueStartTimeout, func() (bool, error) {
		info, err := store.Thread(ctx, id)
		if err != nil {
			return false, fmt.Errorf("read %s: %w", id, err)
		}
		return hasStarted(info) || info.Kind == ponder.KindConversation, nil
	})
}
