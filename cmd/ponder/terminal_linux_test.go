package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ponder/internal/racetest"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// TestTerminal runs testdata/terminal/*.txt on a terminal. It adds to the commands of
// TestScripts:
//
//	start COLSxROWS COMMAND   runs it on a new terminal of that size
//	see TEXT                  waits for the text on the screen, now or since the last see
//	unseen TEXT               checks that it has never shown the text
//	key KEYS                  types them; \n is enter, \e escape, \t tab, ^C a control character
//	hangup                    closes the terminal
//	kill                      kills the program
//	answered FILE MESSAGE...  checks a log: see checkAnswered
//	size COLSxROWS            resizes the terminal
//	ends CODE                 waits for the exit, and checks that the terminal is restored
//	colours none|16|256       checks which colours the output has
func TestTerminal(t *testing.T) {
	racetest.Skip(t, "it waits for a process on a terminal; internal/tui runs under the detector")
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // so that the programs do not inherit an ignored one
	t.Cleanup(func() { signal.Stop(hangups) })
	p := scriptParams("testdata/terminal")
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		env.Values[ptyKey{}] = new(*pty)
		env.Setenv("TERM", "xterm-256color")
		env.Setenv("LANG", "C.UTF-8")
		return setup(env)
	}
	maps.Copy(p.Cmds, map[string]func(*testscript.TestScript, bool, []string){
		"start":    startOnPTY,
		"kill":     ptyCommand(killOnPTY),
		"answered": checkAnswered,
		"see":      ptyCommand(func(p *pty, arg string) error { return p.waitText(arg) }),
		"unseen": ptyCommand(func(p *pty, arg string) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			if strings.Contains(p.shown.String(), arg) {
				return fmt.Errorf("%q was shown", arg)
			}
			return nil
		}),
		"hangup": ptyCommand(func(p *pty, _ string) error { return p.cmd.Process.Signal(syscall.SIGHUP) }),
		"key":    ptyCommand(func(p *pty, arg string) error { return p.typeKeys(arg) }),
		"size":   ptyCommand(func(p *pty, arg string) error { return p.resize(arg) }),
		"ends":   ptyCommand(func(p *pty, arg string) error { return p.waitExit(arg) }),
		"colours": ptyCommand(func(p *pty, arg string) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			if got := colourDepth(p.raw.String()); got != arg {
				return fmt.Errorf("the output has colours: %s", got)
			}
			return nil
		}),
	})
	testscript.Run(t, p)
}

type ptyKey struct{}

type pty struct {
	master *os.File
	tty    *os.File
	before *unix.Termios
	cmd    *exec.Cmd

	mu       sync.Mutex
	changed  *sync.Cond
	screen   *vt.Emulator
	raw      bytes.Buffer
	shown    bytes.Buffer // output without escape sequences, and the screen after each write
	seen     int
	timedOut bool
}

const screenTimeout = 30 * time.Second

func ptyCommand(do func(*pty, string) error) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		ts.Check(do(*ts.Value(ptyKey{}).(**pty), strings.Join(args, " ")))
	}
}

func startOnPTY(ts *testscript.TestScript, _ bool, args []string) {
	p, err := openPTY(args[0])
	ts.Check(err)
	*ts.Value(ptyKey{}).(**pty) = p
	ts.Defer(p.close)
	ts.Check(p.startCommand(ts, args[1], args[2:]))
}

func openPTY(size string) (*pty, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	p := &pty{master: master, screen: vt.NewEmulator(80, 24)}
	go func() { _, _ = io.Copy(io.Discard, p.screen) }() // its answers to queries
	p.changed = sync.NewCond(&p.mu)
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}
	return p, p.resize(size)
}

func (p *pty) startCommand(ts *testscript.TestScript, name string, args []string) error {
	n, err := unix.IoctlGetInt(int(p.master.Fd()), unix.TIOCGPTN)
	if err != nil {
		return err
	}
	if p.tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		return err
	}
	if p.before, err = unix.IoctlGetTermios(int(p.tty.Fd()), unix.TCGETS); err != nil {
		return err
	}
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if file := filepath.Join(dir, name); p.cmd == nil {
			if _, err := os.Stat(file); err == nil {
				p.cmd = exec.Command(file, args...)
			}
		}
	}
	if p.cmd == nil {
		return fmt.Errorf("no program %s", name)
	}
	p.cmd.Dir = ts.MkAbs(".")
	for _, v := range []string{"HOME", "PATH", "OLLAMA_HOST", "TERM", "LANG", "LC_ALL", "NO_COLOR", "NO_PROXY", "TZ", "TMPDIR", "EDITOR"} {
		if value := ts.Getenv(v); value != "" {
			p.cmd.Env = append(p.cmd.Env, v+"="+value)
		}
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = p.tty, p.tty, p.tty
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	go p.readOutput()
	return p.cmd.Start()
}

func (p *pty) close() {
	if p.cmd != nil && p.cmd.Process != nil && p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
	if p.tty != nil {
		_ = p.tty.Close()
	}
	_ = p.master.Close()
}

// readOutput collects output until all processes close the terminal.
func (p *pty) readOutput() {
	buf := make([]byte, 4096)
	for {
		n, err := p.master.Read(buf)
		p.mu.Lock()
		_, _ = p.screen.Write(buf[:n])
		p.raw.Write(buf[:n])
		fmt.Fprintf(&p.shown, "%s\n%s\n", ansi.Strip(string(buf[:n])), p.screen.String())
		p.timedOut = p.timedOut || err != nil
		p.changed.Broadcast()
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

var sgr = regexp.MustCompile(`\x1b\[([\d;:]*)m`)

// colourDepth returns none, 16, 256 or rgb: the most colours that an output requests.
func colourDepth(output string) string {
	depth := "none"
	for _, m := range sgr.FindAllStringSubmatch(output, -1) {
		codes := strings.FieldsFunc(m[1], func(r rune) bool { return r == ';' || r == ':' })
		for i, code := range codes {
			n, _ := strconv.Atoi(code) // digits
			switch {
			case (n == 38 || n == 48) && i+1 < len(codes) && codes[i+1] == "2":
				return "rgb"
			case n == 38 || n == 48:
				depth = "256"
			case depth == "none" && (n >= 30 && n <= 37 || n >= 40 && n <= 47 || n >= 90 && n <= 107):
				depth = "16"
			}
			if n == 38 || n == 48 {
				break
			}
		}
	}
	return depth
}

func (p *pty) waitText(text string) error {
	late := time.AfterFunc(screenTimeout, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.timedOut = true
		p.changed.Broadcast()
	})
	defer late.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		plain := p.shown.String()[p.seen:]
		if i := strings.Index(plain, text); i >= 0 {
			p.seen += i + len(text)
			return nil
		}
		if strings.Contains(p.screen.String(), text) {
			return nil
		}
		if p.timedOut {
			return fmt.Errorf("%q is missing in %q", text, plain)
		}
		p.changed.Wait()
	}
}

func (p *pty) typeKeys(keys string) error {
	keys = strings.NewReplacer(`\n`, "\r", `\e`, "\x1b", `\t`, "\t", "^C", "\x03", "^W", "\x17").Replace(keys)
	_, err := p.master.WriteString(keys)
	return err
}

func (p *pty) resize(text string) error {
	var cols, rows uint16
	if _, err := fmt.Sscanf(text, "%dx%d", &cols, &rows); err != nil {
		return fmt.Errorf("size %s: %w", text, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.screen.Resize(int(cols), int(rows))
	return unix.IoctlSetWinsize(int(p.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows})
}

func (p *pty) waitExit(code string) error {
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	if got := strconv.Itoa(p.cmd.ProcessState.ExitCode()); got != code {
		return fmt.Errorf("exit code %s, want %s: %q", got, code, p.shown.String()[p.seen:])
	}
	after, err := unix.IoctlGetTermios(int(p.master.Fd()), unix.TCGETS)
	if err != nil {
		return err
	}
	if *after != *p.before {
		return fmt.Errorf("the terminal changed: %+v, before %+v", *after, *p.before)
	}
	return nil
}
