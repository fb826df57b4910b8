package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"ponder/internal/notice"
)

// noticeFlags request a notice about the end of work.
type noticeFlags struct {
	channels []string
	answer   bool
}

func (f *noticeFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.channels, "notify", nil, "notify at the end by `channel`: bell, desktop, webhook, mail, all, or a name of mind.notify")
	flags.BoolVar(&f.answer, "notify-answer", false, "include the answer in the notification")
}

// noticeRequest returns the requested notice. Without --notify, it has no channels.
func (f *noticeFlags) noticeRequest(a *cli) (r notice.Request, err error) {
	switch {
	case f.channels == nil && f.answer:
		return r, usagef("--notify-answer needs --notify: name a channel, such as --notify desktop")
	case f.channels == nil:
		return r, nil
	}
	configured, err := a.NoticeNames()
	if err != nil {
		return r, err
	}
	if r.Channels, err = notice.ParseChannels(f.channels, configured); err != nil {
		return r, usagef("--notify: %w", err)
	}
	r.Answer = f.answer
	if slices.Contains(r.Channels, notice.Bell) {
		if r.Terminal = a.terminalPath(); r.Terminal == "" {
			return r, usagef("--notify bell: the terminal is unknown here: use desktop, webhook or mail")
		}
	}
	return r, nil
}

// terminalPath returns the path of the terminal of the command, or "".
func (a *cli) terminalPath() string {
	for _, stream := range []any{a.log.out, io.Reader(a.in), a.out} {
		if r, ok := stream.(*outputWriter); ok {
			stream = r.out
		}
		f, ok := stream.(*os.File)
		if !ok || !term.IsTerminal(int(f.Fd())) {
			continue
		}
		if path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err == nil && strings.HasPrefix(path, "/dev/") {
			return path
		}
	}
	return ""
}

// completeChannels offers the channels of notifications.
func (a *cli) completeChannels(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	words := []cobra.Completion{
		cobra.CompletionWithDesc(notice.Bell, "ring this terminal"), cobra.CompletionWithDesc(notice.Desktop, "show a desktop notification"),
		cobra.CompletionWithDesc("webhook", "post to all webhooks of mind.notify"), cobra.CompletionWithDesc("mail", "send by all addresses of mind.notify"),
		cobra.CompletionWithDesc("all", "all except the bell"),
	}
	if names, err := a.NoticeNames(); err == nil {
		words = append(words, names...)
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
