package notify

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"ponder/internal/textkit"
	"runtime"
	"strings"
	"time"
)

// Limits of desktop notifications.
const (
	maxShown    = 400 // bytes
	desktopTime = 10 * time.Second
)

// Desktop returns the channel "desktop", which uses notify-send, or osascript on macOS. Send fails
// if the program is missing.
func Desktop() Channel { return newDesktop(runtime.GOOS) }

func newDesktop(system string) Channel {
	return Channel{Name: "desktop", Send: func(ctx context.Context, m Message) error {
		argv, err := argvOf(system, m.sanitizeMessage())
		if err != nil {
			return err
		}
		return runProgram(ctx, argv)
	}}
}

// runProgram runs a program and discards its output.
func runProgram(ctx context.Context, argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fmt.Errorf("notify the desktop: %s is not installed: install it, or remove \"desktop\" from the channels", argv[0])
	}
	ctx, cancel := context.WithTimeout(ctx, desktopTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("notify the desktop with %s: %w", argv[0], err)
	}
	return nil
}

// argvOf returns the command that shows a cleaned message. The texts are separate arguments, so
// that no shell or script parses them.
func argvOf(system string, m Message) ([]string, error) {
	title := textkit.TruncateBytes("Ponder: "+m.Title, maxTitle)
	text := textkit.OneLine(textkit.Visible(m.Text))
	if m.Untrusted {
		text = textkit.TruncateBytes(text, maxShown-80) + " (from text by others)"
	}
	text = textkit.TruncateBytes(text, maxShown)
	switch system {
	case "darwin":
		return []string{"osascript",
			"-e", "on run argv",
			"-e", "display notification (item 2 of argv) with title (item 1 of argv)",
			"-e", "end run", title, text}, nil
	case "windows", "js", "wasip1", "plan9":
		return nil, errors.New("notify the desktop: this system is not supported; remove \"desktop\" from the channels")
	}
	urgency := "normal"
	if m.Importance >= 9 {
		urgency = "critical"
	}
	return []string{"notify-send", "--app-name=Ponder", "--urgency=" + urgency, "--", title, markupEscaper.Replace(text)}, nil
}

// markupEscaper escapes the body, which notification servers parse as markup.
var markupEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
