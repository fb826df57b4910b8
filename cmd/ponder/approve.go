package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/internal/tui"
	"ponder/tool/approval"
)

func (a *cli) approveCommand() *cobra.Command {
	return a.decideCommand(&cobra.Command{
		Use:   "approve [ID...]",
		Short: "Approve tool calls, or list the open questions",
		Long: `Approve tool calls that models requested in conversations. Ponder asks before a call that
acts, or that may send data out of a conversation with untrusted text. An approved call
runs at once, with exactly the arguments of its question, and the conversation continues.

An ID is that of a question, or its code of six characters. Several must be of one
conversation. Without an ID, ponder approve lists the open questions with all arguments.
A question is open for 24 hours.

Exit codes: those of ponder ask.`,
		Example: "ponder approve\nponder approve 3F9K2M\nponder deny 3F9K2M",
	}, true)
}

func (a *cli) denyCommand() *cobra.Command {
	return a.decideCommand(&cobra.Command{
		Use:     "deny ID...",
		Short:   "Deny tool calls that models requested",
		Long:    "Deny tool calls that models requested in conversations. The model learns it and continues\nits answer without them. ponder approve lists the open questions.",
		Example: "ponder deny 3F9K2M",
	}, false)
}

func (a *cli) decideCommand(cmd *cobra.Command, approved bool) *cobra.Command {
	var f askFlags
	cmd.GroupID = groupThink
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && !approved {
			return usagef("%s needs the ID or the code of a question: `ponder approve` lists them", cmd.CommandPath())
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.decideApprovals(cmd.Context(), args, approved, f, cmd.Flags().Changed)
	}
	f.addSourceFlags(cmd.Flags())
	return cmd
}

// decideApprovals answers questions and prints the answer that follows, or lists the questions without names.
func (a *cli) decideApprovals(ctx context.Context, names []string, approved bool, f askFlags, given func(string) bool) error {
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	open, err := app.OpenApprovals(ctx, store, a.Owner())
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return a.listApprovals(open)
	}
	var decisions []ponder.ApprovalDecision
	var thread ponder.ThreadID
	for _, name := range names {
		q, err := app.FindApproval(open, name)
		if err != nil {
			return err
		}
		if thread != "" && thread != q.Thread {
			return usagef("the questions are of several conversations: answer them in several commands")
		}
		thread = q.Thread
		decisions = append(decisions, ponder.ApprovalDecision{ID: q.ID, Approved: approved})
	}
	said, err := app.DecisionMessage(open, decisions...)
	if err != nil {
		return err
	}
	t, err := f.chatSetup(ctx, a, given)
	if err != nil {
		return err
	}
	f.thread = string(thread)
	id, head, err := f.findConversation(ctx, a, store)
	if err != nil {
		return err
	}
	return a.askIn(ctx, store, askPlace{id: id, head: head}, t, message{text: said.Content, decisions: said.Decisions}, f, func(context.Context, *askSession) {})
}

func (a *cli) listApprovals(open []app.Approval) error {
	for i, q := range open {
		if a.flags.json {
			if err := a.printJSON(q); err != nil {
				return err
			}
			continue
		}
		box := a.questionOf(q, 0, 0)
		a.printf("%s%s  %s\n%s\n  in %s, until %s\n", strings.Repeat("\n", min(i, 1)), q.Code, strings.Join(box.Head[1:], "\n  "), indentLines(box.Text), q.Thread, q.Expires.Local().Format("2006-01-02 15:04"))
	}
	if len(open) == 0 {
		a.printNote("no open questions")
	} else {
		a.printNote("to run one: %s; to refuse it: %s", a.formatCommand("approve", "CODE"), a.formatCommand("deny", "CODE"))
	}
	return nil
}

func indentLines(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// Limits of the sources in a question.
const (
	maxNamedSources = 8
	maxSourceName   = 80
)

// questionOf returns question n of a turn for the terminal.
func (a *cli) questionOf(q app.Approval, n, of int) tui.Question {
	asks := "Ponder asks for your approval"
	if of > 1 {
		asks += fmt.Sprintf(" (%d of %d)", n, of)
	}
	head := []string{asks, "run " + truncate(approval.Show([]byte(q.Tool)), 100) + ": " + q.Reason}
	if len(q.Untrusted) > 0 {
		var names []string
		for _, name := range q.Untrusted[:min(len(q.Untrusted), maxNamedSources)] {
			names = append(names, truncate(oneLine(approval.Show([]byte(name))), maxSourceName))
		}
		more := ""
		if left := len(q.Untrusted) - len(names); left > 0 {
			more = fmt.Sprintf(" and %s", textkit.Count(left, "other", "others"))
		}
		head = append(head, "untrusted text: "+strings.Join(names, "; ")+more)
	}
	code := ponder.ThreadID(q.Code)
	return tui.Question{
		Head: append(head, "with exactly these arguments:"), Text: approval.Show(q.Args),
		Left: "open: " + a.formatCommand("approve", code) + " runs it, " + a.formatCommand("deny", code) + " does not",
	}
}

func approvalsOf(events []ponder.Event) (list []app.Approval) {
	for _, ev := range events {
		list = append(list, app.NewApproval(ev))
	}
	return list
}

// parseDecision turns a message that answers a question into a decision.
func (c *conversation) parseDecision(ctx context.Context, m *message) error {
	if c.id == "" || len(m.files)+len(m.media)+len(m.decisions) > 0 {
		return nil
	}
	b := ponder.UserMessage{Content: m.text}
	err := app.ParseDecision(ctx, c.store, c.id, &b)
	m.decisions = b.Decisions
	return err
}

// askQuestions asks the questions of the turn on the terminal, and returns the message with the answers. If none
// is answered, it prints the questions and returns an error of the exit code 3.
func (s *askSession) askQuestions(ctx context.Context) (message, error) {
	list := approvalsOf(s.currentTurn.Questions)
	waits := failure{exitIncomplete, errors.New("a tool call waits for your approval: see `ponder approve`")}
	in, isIn := s.in.(*os.File)
	out, isOut := s.outputFile()
	if !isIn || !isOut || s.flags.json || !tui.CanShow(in) || !tui.CanShow(out) {
		ui := &lineUI{cli: s.cli}
		for i, q := range list {
			ui.Ask(s.questionOf(q, i+1, len(list)))
		}
		return message{}, waits
	}
	presses := make(chan tui.Press, 64)
	ui := s.openChatView(tui.ChatViewOptions{Out: out, In: in, Style: s.viewStyle(), OnPress: func(p tui.Press) {
		select {
		case presses <- p:
		default: // the queue is full
		}
	}})
	defer ui.Close()
	var decisions []ponder.ApprovalDecision
	for i, q := range list {
		ui.Ask(s.questionOf(q, i+1, len(list)))
		for answer := ""; answer == ""; {
			select {
			case p := <-presses:
				if answer = p.Key; answer == tui.Approve || answer == tui.Deny {
					decisions = append(decisions, ponder.ApprovalDecision{ID: q.ID, Approved: answer == tui.Approve})
				} else if answer != tui.Postpone { // typed between two questions
					answer = ""
				}
			case <-ctx.Done():
				return message{}, ctx.Err()
			}
		}
	}
	if len(decisions) == 0 {
		return message{}, waits
	}
	said, err := app.DecisionMessage(list, decisions...)
	return message{text: said.Content, decisions: said.Decisions}, err
}

// askNext asks the next open question. Where lines are read, it prints all of them instead.
func (s *chatSession) askNext() {
	for i := 0; s.readsLines() && i < len(s.questions); i++ {
		s.ui.Ask(s.questionOf(s.questions[i], i+1, len(s.questions)))
	}
	if s.readsLines() {
		s.questions = nil
	}
	if n := len(s.decisions); n < len(s.questions) {
		s.ui.Ask(s.questionOf(s.questions[n], n+1, len(s.questions)))
	}
}

// decide records the answer to the current question. After the last one, it sends all answers.
func (s *chatSession) decide(ctx context.Context, answer string) error {
	if len(s.decisions) >= len(s.questions) {
		return nil
	}
	d := ponder.ApprovalDecision{Approved: answer == tui.Approve}
	if answer != tui.Postpone {
		d.ID = s.questions[len(s.decisions)].ID
	}
	if s.decisions = append(s.decisions, d); len(s.decisions) < len(s.questions) {
		s.askNext()
		return nil
	}
	asked, decisions := s.questions, s.decisions
	s.questions, s.decisions = nil, nil
	var given []ponder.ApprovalDecision
	for _, d := range decisions {
		if d.ID != "" {
			given = append(given, d)
		}
	}
	if len(given) > 0 {
		said, err := app.DecisionMessage(asked, given...)
		if err != nil {
			return err
		}
		attached := s.nextMessage
		s.nextMessage = message{decisions: said.Decisions}
		if err := s.sendText(ctx, said.Content); err != nil {
			s.ui.Show(tui.Failure, oneLine(err.Error()))
		}
		s.nextMessage = attached
	}
	s.startQueued(ctx)
	return nil
}
