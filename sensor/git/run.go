package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"ponder"
	"ponder/internal/limitio"
	"ponder/sensor"
)

// Limits of a git command.
const (
	commandTimeout = 8 * time.Second
	maxBytes       = 1 << 20
	maxDirty       = 500 // uncommitted files to inspect
)

// safeOptions keep git from running programs of the repository.
var safeOptions = []string{
	"--no-pager", "--literal-pathspecs",
	"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.pager=cat", "-c", "core.untrackedCache=false",
	"-c", "protocol.allow=never", "-c", "log.showSignature=false", "-c", "gpg.program=false", "-c", "diff.external=",
	"-c", "core.quotePath=false", "-c", "submodule.recurse=false", "-c", "status.submoduleSummary=false",
}

func (r *repository) runGit(ctx context.Context, args ...string) (string, error) {
	program, err := exec.LookPath(r.Git)
	if err != nil {
		return "", errNoGit
	}
	if info, err := os.Stat(r.Path); r.Path == "" || err != nil || !info.IsDir() {
		return "", errors.New("no such folder; check path")
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(append([]string{"-C", r.Path}, safeOptions...), args...)...)
	cmd.Env = gitEnv()
	cmd.WaitDelay = time.Second
	out, says := limitio.Writer{Limit: maxBytes}, limitio.Writer{Limit: maxBytes}
	cmd.Stdout, cmd.Stderr = &out, &says
	err = cmd.Run()
	switch {
	case err == nil:
		return out.String(), nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("git %s took longer than %v", args[0], commandTimeout)
	case strings.Contains(says.String(), "not a git repository"):
		return "", errors.New("not a git repository; check path")
	case strings.Contains(says.String(), "dubious ownership"):
		return "", errors.New("the repository belongs to another user; if you trust it, run git config --global --add safe.directory with its path")
	}
	first, _, _ := strings.Cut(strings.TrimSpace(says.String()), "\n")
	return "", fmt.Errorf("git %s: %s (%w)", args[0], sensor.Line(first, 200), err)
}

func gitEnv() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
		"GIT_ALLOW_PROTOCOL=", "GIT_NO_LAZY_FETCH=1", "GIT_PAGER=cat", "GIT_EDITOR=false", "GIT_ASKPASS=false", "GIT_SSH_COMMAND=false",
		"GIT_NO_REPLACE_OBJECTS=1",
	}
}

// staleWork reports uncommitted work without changes for a day, and its last change. It ignores
// errors.
func (r *repository) staleWork(ctx context.Context, now time.Time) (ponder.Observation, int64) {
	top, err := r.runGit(ctx, "rev-parse", "--show-toplevel")
	top = strings.TrimSuffix(top, "\n")
	if err != nil || top == "" {
		return ponder.Observation{}, 0 // no work tree
	}
	args, ok := r.disableFilters(ctx)
	if !ok {
		return ponder.Observation{}, 0
	}
	text, err := r.runGit(ctx, append(args, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal", "--ignore-submodules=all")...)
	if err != nil {
		return ponder.Observation{}, 0
	}
	var files []string
	var newest time.Time
	for line := range strings.SplitSeq(text, "\x00") {
		if len(line) < 4 || len(files) == maxDirty {
			continue
		}
		files = append(files, line[3:])
		if at := lastModified(filepath.Join(top, filepath.FromSlash(line[3:]))); at.After(newest) {
			newest = at
		}
	}
	if newest.IsZero() || now.Sub(newest) < staleAfter {
		return ponder.Observation{}, 0
	}
	for i := range files {
		files[i] = sensor.Line(files[i], 80)
	}
	text = fmt.Sprintf("Uncommitted work in %s since %s: ", r.shortName(), newest.UTC().Format(time.DateOnly))
	if shown := strings.Join(files[:min(len(files), 4)], ", "); len(files) > 4 {
		text += fmt.Sprintf("%d files, such as %s.", len(files), shown)
	} else {
		text += shown + "."
	}
	return r.newObservation("uncommitted work in "+r.shortName(), fmt.Sprintf("stale %d", newest.Unix()), text), newest.Unix()
}

// lastModified returns the last change of a file, or of its folder if it is deleted.
func lastModified(path string) time.Time {
	info, err := os.Lstat(path)
	if err != nil {
		info, err = os.Lstat(filepath.Dir(path))
	}
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// disableFilters returns options that disable configured filters, which git status would run.
func (r *repository) disableFilters(ctx context.Context) ([]string, bool) {
	text, err := r.runGit(ctx, "config", "--null", "--name-only", "--get-regexp", `^filter\..*\.(clean|smudge|process|required)$`)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil, true // no filters
	}
	if err != nil {
		return nil, false
	}
	var args []string
	for name := range strings.SplitSeq(strings.TrimSuffix(text, "\x00"), "\x00") {
		if strings.Contains(name, "=") { // cannot be disabled this way
			return nil, false
		}
		value := ""
		if strings.HasSuffix(name, ".required") {
			value = "false"
		}
		args = append(args, "-c", name+"="+value)
	}
	return args, true
}
