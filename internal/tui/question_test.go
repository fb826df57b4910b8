package tui

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

var lampQuestion = Question{Head: []string{"Ponder asks for your approval", "run lamp: it acts"}, Text: "{\n  \"room\": \"kitchen\"\n}", Left: "open: ponder approve 3F9K2M"}

// askIn opens a question in a view without a terminal.
func askIn(q Question, s Style) *ChatView {
	talk := newChatView(ChatViewOptions{Style: s}, true)
	talk.program = (&screen{}).newTestProgram(talk, nil)
	talk.Ask(q)
	return talk
}

func answerKeys(talk *ChatView, keys string) (answers []string) {
	for _, msg := range decodeKeys(keys) {
		if press := talk.handleMsg(msg); press != nil {
			answers = append(answers, press.Key+press.Line)
		}
	}
	return answers
}

// TestQuestionKeys checks which keys answer a question. A | draws it, a ^ waits for the quiet time.
func TestQuestionKeys(t *testing.T) {
	long := Question{Head: lampQuestion.Head, Text: strings.Repeat("row\n", 40) + "evil", Left: lampQuestion.Left}
	for _, tt := range []struct {
		name string
		q    Question
		keys string
		want string
	}{
		{"yes", lampQuestion, "|^y", Approve},
		{"a capital", lampQuestion, "|^Y", Approve},
		{"no", lampQuestion, "|^n", Deny},
		{"enter", lampQuestion, "|^\r", Deny},
		{"escape", lampQuestion, "|^\x1b", Postpone},
		{"ctrl+c, at once", lampQuestion, "\x03", Postpone},
		{"typed before it is drawn", lampQuestion, "y^|y", ""},
		{"typed before it is drawn, drawn late", lampQuestion, "y^^^", ""},
		{"typed as it appears", lampQuestion, "|yyy\r", ""},
		{"a message that goes on", lampQuestion, "|y^", ""},
		{"after a message", lampQuestion, "|yes please\r^y", Approve},
		{"pasted", lampQuestion, "|^\x1b[200~y\x1b[201~y", ""},
		{"pasted with a line break", lampQuestion, "|^\x1b[200~y\n\x1b[201~", ""},
		{"another key", lampQuestion, "|^xzY", Approve},
		{"with ctrl", lampQuestion, "|^\x19", ""},
		{"not read to its end", long, "|^y", ""},
		{"read in part", long, "|^ |y", ""},
		{"read to its end", long, "|^ | | | |y", Approve},
		{"not read, and no", long, "|^n", Deny},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				talk := askIn(tt.q, Style{})
				talk.editor.setText("draft")
				var got []string
				keys := ""
				flush := func() {
					got = append(got, answerKeys(talk, keys)...)
					keys = ""
				}
				for _, r := range tt.keys {
					switch r {
					case '|':
						flush()
						talk.renderBlock(Size{60, 20})
					case '^':
						flush()
						time.Sleep(quietTime)
					default:
						keys += string(r)
					}
				}
				flush()
				if strings.Join(got, " ") != tt.want {
					t.Errorf("answered %q, want %q", got, tt.want)
				}
				if (talk.question == nil) != (tt.want != "") || talk.editor.String() != "draft" {
					t.Errorf("open: %v, draft %q", talk.question != nil, talk.editor.String())
				}
				time.Sleep(time.Second)
			})
		})
	}
}

// TestQuestionBox checks that the box shows everything, within its width, and that other text cannot look like it.
func TestQuestionBox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, s := range []Style{{}, {Plain: true}, {ASCII: true}, {ASCII: true, Plain: true}} {
			q := Question{Head: lampQuestion.Head, Text: `{"to": "a@b.test", "text": "` + strings.Repeat(" ", 300) + `ünïcode 穀 𝒳 end"}`, Left: "open"}
			talk := askIn(q, s)
			bar := strings.TrimSpace(s.boxBar())
			shown, _ := talk.renderBlock(Size{41, 30})
			time.Sleep(quietTime)
			answerKeys(talk, "y")
			printed := talk.takePrinted(Size{41, 30})
			for _, rows := range [][]string{shown, printed[:len(printed)-1]} {
				text := ""
				for _, row := range rows {
					row = ansi.Strip(row)
					if !strings.HasPrefix(row, bar) || lipgloss.Width(row) > 40 {
						t.Errorf("%+v: %q", s, row)
					}
					text += strings.TrimPrefix(row, bar+"   ")
				}
				want := "ünïcode 穀 𝒳 end"
				if s.ASCII {
					want = `\u00fcn\u00efcode \u7a40 \ud835\udcb3 end`
				}
				if !strings.Contains(strings.ReplaceAll(text, " ", ""), strings.ReplaceAll(want, " ", "")) {
					t.Errorf("%+v: %q is not in %q", s, want, text)
				}
			}
			fake := strings.Join(printed, "\n")
			talk.Show(Text, "```\n"+fake+"\n```\n\n"+fake+"\n\n- "+fake+"\n\n!! Ponder asks")
			for _, row := range talk.takePrinted(Size{61, 30}) {
				if row = ansi.Strip(row); strings.HasPrefix(strings.TrimSpace(row), bar) || strings.Contains(row, "┃") {
					t.Errorf("%+v: the answer has the row %q", s, row)
				}
			}
		}
		time.Sleep(time.Second)
	})
}
