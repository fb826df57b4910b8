// Package crash finds the thread that crashed a process, and quarantines a thread that did so
// repeatedly.
//
// The runtime writes the trace of a crash into a file of the process, beside the database.
// The trace names the thread, because Go prints the labels of a goroutine and each goroutine
// inherits them: see [Log.Guard]. The next process finds the file. A killed process leaves an
// empty file and blames no thread. See docs/design/crashes.md.
package crash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/internal/fileio"
	"ponder/internal/limitio"
	"ponder/internal/textkit"
)

// MaxCrashes is the number of crashes in a row that quarantines a thread.
const MaxCrashes = 3

const (
	folderSuffix = "-crashes" // of the folder, after the name of the database
	runSuffix    = ".running" // of the output of a process; empty unless it crashed
	traceSuffix  = ".txt"     // of a trace: THREAD.NUMBER.txt
	noThread     = "none"     // the thread of other crashes
	threadLabel  = "thread"
	maxTrace     = 1 << 20 // bytes of a trace that count
	maxReason    = 200
)

// A Report is a crash.
type Report struct {
	Thread ponder.ThreadID // "" if the crash was not on a thread
	Reason string
	At     time.Time
	File   string // the trace
}

// A Log has the crashes of the processes that use a database. The zero Log has none.
type Log struct{ folder string }

// NewLog returns the log of a database file.
func NewLog(database string) Log {
	if database == "" {
		return Log{}
	}
	return Log{database + folderSuffix}
}

// output is the crash output of this process.
var output struct {
	sync.Mutex
	file    *os.File
	log     Log
	stopped bool // the process ends
}

// Start directs the trace of a crash of this process to the log. Only the first log of a
// process gets it. Without a writable folder, Start does nothing and returns the error.
func (l Log) Start() error {
	output.Lock()
	defer output.Unlock()
	if l.folder == "" || output.file != nil || output.stopped {
		return nil
	}
	f, err := l.createOutput()
	if err != nil {
		return fmt.Errorf("record crashes: %w", err)
	}
	if err := debug.SetCrashOutput(f, debug.CrashOptions{}); err != nil {
		f.Close()
		os.Remove(f.Name())
		return fmt.Errorf("record crashes: %w", err)
	}
	output.file, output.log = f, l
	return printLabels()
}

// printLabels makes the runtime print the labels of goroutines in traces.
func printLabels() error {
	const setting = "tracebacklabels"
	settings := os.Getenv("GODEBUG")
	if strings.Contains(settings, setting) {
		return nil
	}
	return os.Setenv("GODEBUG", strings.TrimPrefix(settings+","+setting+"=1", ","))
}

// createOutput creates and locks the file. Another process may remove the empty folder or the
// file before the lock.
func (l Log) createOutput() (*os.File, error) {
	var err error
	for range 10 {
		if err = fileio.MakeStateDir(l.folder); err != nil {
			return nil, err
		}
		var f *os.File
		f, err = fileio.OpenState(filepath.Join(l.folder, ponder.NewID("run")+runSuffix), os.O_CREATE|os.O_EXCL|os.O_RDWR)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if _, gone := os.Lstat(f.Name()); lockFile(f) && gone == nil {
			return f, nil
		}
		f.Close()
		err = errors.New("another process removed the file")
	}
	return nil, err
}

// Stop ends the record at the orderly end of a process. It must not be deferred, because a
// panic runs deferred functions.
func Stop() {
	output.Lock()
	defer output.Unlock()
	output.stopped = true
	if output.file == nil {
		return
	}
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
	os.Remove(output.file.Name())
	output.file.Close()
	os.Remove(output.log.folder) // if it is empty
	output.file = nil
}

// Guard returns a work function that refuses quarantined threads. It labels the goroutines of
// a thread. After orderly work, it forgets the crashes of the thread.
func (l Log) Guard(work func(context.Context, ponder.ThreadID) error) func(context.Context, ponder.ThreadID) error {
	return func(ctx context.Context, thread ponder.ThreadID) (err error) {
		crashes := l.threadReports(thread)
		if len(crashes) >= MaxCrashes {
			return quarantineError(thread, crashes)
		}
		pprof.Do(ctx, pprof.Labels(threadLabel, string(thread)), func(ctx context.Context) { err = work(ctx, thread) })
		if err == nil && len(crashes) > 0 {
			l.Release(thread)
		}
		return err
	}
}

func quarantineError(thread ponder.ThreadID, crashes []Report) error {
	return fmt.Errorf("%w: %s crashed Ponder %d times in a row (%s); to try it again, run `ponder thread release %s`",
		ponder.ErrQuarantined, thread, len(crashes), crashes[len(crashes)-1].Reason, thread)
}

// Reports returns the crashes, oldest first. It first reads the output of processes that have
// ended.
func (l Log) Reports() []Report {
	if l.folder == "" {
		return nil
	}
	entries, err := os.ReadDir(l.folder)
	if err != nil {
		return nil
	}
	collected := false
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), runSuffix) {
			collected = l.collect(filepath.Join(l.folder, e.Name())) || collected
		}
	}
	if collected {
		entries, _ = os.ReadDir(l.folder)
	}
	var list []Report
	for _, e := range entries {
		if r, ok := l.readTrace(e.Name()); ok {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b Report) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.File, b.File)) })
	return list
}

// Quarantined returns the last crash of each quarantined thread.
func (l Log) Quarantined() []Report {
	count, last := map[ponder.ThreadID]int{}, []Report{}
	for _, r := range l.Reports() {
		if count[r.Thread]++; r.Thread != "" && count[r.Thread] == MaxCrashes {
			last = append(last, r)
		}
	}
	return last
}

func (l Log) threadReports(thread ponder.ThreadID) []Report {
	return slices.DeleteFunc(l.Reports(), func(r Report) bool { return r.Thread != thread })
}

// Release forgets the crashes of a thread, which ends its quarantine. It reports whether
// there were any.
func (l Log) Release(thread ponder.ThreadID) (released bool) {
	for _, r := range l.threadReports(thread) {
		released = os.Remove(r.File) == nil || released
	}
	os.Remove(l.folder) // if it is empty
	return released
}

// collect makes a trace of the output of a process that has ended, and removes the output.
func (l Log) collect(file string) bool {
	f, err := fileio.OpenState(file, os.O_RDWR)
	if err != nil || !lockFile(f) {
		f.Close()
		return false
	}
	defer f.Close() // unlocks last
	text, err := limitio.ReadAll(f, maxTrace)
	if err != nil && !errors.Is(err, limitio.ErrTooLarge) {
		return false
	}
	thread, ok := blame(string(text))
	if !ok {
		os.Remove(file)
		return false
	}
	for n := 1; n <= MaxCrashes; n++ {
		name := filepath.Join(l.folder, fmt.Sprintf("%s.%d%s", cmp.Or(url.PathEscape(string(thread)), noThread), n, traceSuffix))
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return os.Rename(file, name) == nil
		}
	}
	os.Remove(file) // enough
	return false
}

var (
	runningPattern = regexp.MustCompile(`(?m)^goroutine \d+.* \[running.*\]:$`)
	labelPattern   = regexp.MustCompile(`labels:\{.*"` + threadLabel + `": ("(?:[^"\\]|\\.)*")`)
	callPattern    = regexp.MustCompile(`^(\S+)\(`)
	tracePattern   = regexp.MustCompile(`^(.+)\.\d+\` + traceSuffix + `$`)
)

// blame reports whether a trace is of a crash, and its thread, or "". Signals of users and
// supervisors are no crashes. An exhausted memory is no crash of a thread, because any thread
// may allocate last.
func blame(trace string) (thread ponder.ThreadID, ok bool) {
	for _, prefix := range []string{"SIGABRT:", "SIGQUIT:"} {
		if strings.HasPrefix(trace, prefix) {
			return "", false
		}
	}
	if strings.TrimSpace(trace) == "" {
		return "", false
	}
	running := runningPattern.FindStringIndex(trace)
	if running == nil || reasonOf(trace) == outOfMemory {
		return "", true
	}
	if m := labelPattern.FindStringSubmatch(trace[running[0]:running[1]]); m != nil {
		id, _ := strconv.Unquote(m[1])
		return ponder.ThreadID(id), true
	}
	return "", true
}

// readTrace reads the report of a trace.
func (l Log) readTrace(name string) (r Report, ok bool) {
	m := tracePattern.FindStringSubmatch(name)
	if m == nil {
		return r, false
	}
	r.File = filepath.Join(l.folder, name)
	f, err := fileio.OpenRegular(r.File)
	if err != nil {
		return r, false
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		r.At = info.ModTime()
	}
	text, _ := limitio.ReadAll(f, maxTrace) // the read part
	r.Reason = reasonOf(string(text))
	if m[1] != noThread {
		id, _ := url.PathUnescape(m[1])
		r.Thread = ponder.ThreadID(id)
	}
	return r, true
}

const (
	fatalError    = "fatal error"
	outOfMemory   = fatalError + ": out of memory"
	stackOverflow = fatalError + ": stack overflow"
)

// reasonOf returns the message of a trace. The runtime writes no message of its fatal errors
// into the file, so their reason follows from the functions.
func reasonOf(trace string) string {
	first, rest, _ := strings.Cut(trace, "\n")
	switch {
	case strings.TrimSpace(first) != "":
		return textkit.Truncate(textkit.OneLine(first), maxReason)
	case strings.Contains(rest, "\nruntime.mallocgc"):
		return outOfMemory
	}
	reason := fatalError
	if strings.Contains(rest, "\nruntime.newstack(") {
		reason = stackOverflow
	}
	if at := runningPattern.FindStringIndex(trace); at != nil {
		for line := range strings.Lines(trace[at[1]:]) {
			m := callPattern.FindStringSubmatch(line)
			if m != nil && !strings.HasPrefix(m[1], "runtime.") && !strings.HasPrefix(m[1], "internal/") {
				return textkit.Truncate(textkit.OneLine(reason+" in "+m[1]), maxReason)
			}
		}
	}
	return reason
}
