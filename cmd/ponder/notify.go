package main

import (
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"ponder/internal/app"
	"ponder/internal/notice"
	"ponder/sensor/notify"
)

// noticeFlags request a notice about the end of work.
type noticeFlags struct {
	channels []string
	answer   bool
}

func (f *noticeFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.channels, "notify", nil, "notify at the end by `channel`: bell, desktop, webhook, mail, all, none, or a name of mind.notify")
	flags.BoolVar(&f.answer, "notify-answer", false, "include the answer in the notification")
}

// noticeRequest returns the requested notice. Without --notify, it has no channels.
func (f *noticeFlags) noticeRequest(a *cli) (r notice.Request, err error) {
	switch {
	case f.channels == nil && f.answer:
		return r, usagef("--notify-answer needs --notify: name a channel, such as --notify desktop")
	case f.channels == nil || slices.Equal(f.channels, []string{noChannel}):
		return r, nil
	}
	if r, err = a.parseNotice(f.channels, f.answer); err != nil {
		return r, usagef("--notify: %w", err)
	}
	if r.Terminal == "" && slices.Contains(r.Channels, notice.Bell) {
		return r, usagef("--notify bell: the terminal is unknown here: use desktop, webhook or mail")
	}
	return r, nil
}

// noChannel excludes the channels of the configuration.
const noChannel = "none"

// startNotice is noticeRequest for a command that starts work: without --notify, the channels are those of
// notify.channels. A bell without a terminal is left out.
func (f *noticeFlags) startNotice(a *cli) (r notice.Request, err error) {
	if f.channels != nil {
		return f.noticeRequest(a)
	}
	cfg, err := a.Config()
	if err != nil {
		return r, err
	}
	channels := cfg.Notify.Channels
	if len(channels) == 0 || slices.Equal(channels, []string{noChannel}) {
		return f.noticeRequest(a)
	}
	if r, err = a.parseNotice(channels, f.answer || cfg.Notify.Answer); err != nil {
		return r, app.Invalidf("", "notify.channels in the configuration: %w", err)
	}
	if r.Terminal == "" {
		r.Channels = slices.DeleteFunc(r.Channels, func(name string) bool { return name == notice.Bell })
	}
	return r, nil
}

func (a *cli) parseNotice(channels []string, answer bool) (r notice.Request, err error) {
	configured, err := a.NoticeNames()
	if err != nil {
		return r, err
	}
	if r.Channels, err = notice.ParseChannels(channels, configured); err != nil {
		return r, err
	}
	if r.Answer = answer; slices.Contains(r.Channels, notice.Bell) {
		r.Terminal = a.terminalPath()
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
		if path := notify.TerminalPath(f); path != "" {
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
		cobra.CompletionWithDesc("all", "all except the bell"), cobra.CompletionWithDesc(noChannel, "not, whatever notify.channels says"),
	}
	if names, err := a.NoticeNames(); err == nil {
		words = append(words, names...)
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
