package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const mindFile = `
[mind]
every = "10m"
cost_per_day = 0
quiet = "off"
night = "01:00-05:30"
[mind.models]
watcher = "groq/llama-3.3-70b"
escalation = ["anthropic/claude-opus-4-6", "openai/gpt-5.2"]
[mind.sensors.mail.work]
server = "imap.example.org"
user = "anna"
password_env = "WORK_MAIL"
folders = ["INBOX", "Lists"]
[mind.sensors.calendar.home]
file = "~/home.ics"
ahead = "48h"
[mind.sensors.command.disk]
command = ["df", "-h"]
off = true
[mind.sensors.system]
mounts = ["/"]
[mind.sensors.own]
off = true
[mind.notify]
desktop = true
[mind.notify.webhook.phone]
url = "https://ntfy.example.org/anna"
secret_env = "NTFY_SECRET"
[mind.notify.email.me]
server = "smtp.example.org:587"
from = "ponder@example.org"
to = ["anna@example.org"]
[mind.actions.think_about]
per_day = 0
[mind.actions.lights]
command = ["hue", "off"]
args = ["room"]
doc = "Turns the lights of a room off"
`

func TestMind(t *testing.T) {
	c, err := Load(writeConfigs(t, mindFile, "", map[string]string{"HOME": "/home/ann", "WORK_MAIL": "p4ss"}))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings) > 0 {
		t.Error(c.Warnings)
	}
	want := Mind{
		Every: Duration(10 * time.Minute), CostPerDay: new(0.0), Quiet: NoHours, Night: "01:00-05:30",
		Models: map[string]Chain{"watcher": {"groq/llama-3.3-70b"}, Decisions: {"anthropic/claude-opus-4-6", "openai/gpt-5.2"}},
		Sensors: Sensors{
			Mail:     map[string]MailSensor{"work": {Server: "imap.example.org", User: "anna", PasswordEnv: "WORK_MAIL", Folders: []string{"INBOX", "Lists"}}},
			Calendar: map[string]CalendarSensor{"home": {File: "~/home.ics", Ahead: Duration(48 * time.Hour)}},
			Command:  map[string]CommandSensor{"disk": {Command: []string{"df", "-h"}, Off: true}},
			System:   SystemSensor{Mounts: []string{"/"}}, Own: OwnSensor{Off: true},
		},
		Notify: Notify{
			Desktop: true, Webhook: map[string]Webhook{"phone": {URL: "https://ntfy.example.org/anna", SecretEnv: "NTFY_SECRET"}},
			Email: map[string]Email{"me": {Server: "smtp.example.org:587", From: "ponder@example.org", To: []string{"anna@example.org"}}},
		},
		Actions: map[string]Action{ThinkAbout: {PerDay: new(0)}, "lights": {Command: []string{"hue", "off"}, Args: []string{"room"}, Doc: "Turns the lights of a room off"}},
	}
	if d := cmp.Diff(want, c.Mind); d != "" {
		t.Error(d)
	}
	secret, err := c.Secret("WORK_MAIL")
	if err != nil || string(secret) != "p4ss" {
		t.Errorf("secret %q, %v", string(secret), err)
	}
	if _, err := c.Secret("NTFY_SECRET"); err == nil || !strings.Contains(err.Error(), "NTFY_SECRET is not set") {
		t.Errorf("of a variable that is not set: %v", err)
	}
	got := []any{c.Mind.Tokens(), c.Mind.Dollars(), c.Mind.QuietHours(), c.Path("~/home.ics"), c.Value("mind.sensors.mail.work.folders"), c.Value("mind.cooldown")}
	if d := cmp.Diff([]any{MindTokens, 0.0, NoHours, "/home/ann/home.ics", "INBOX, Lists", "15m"}, got); d != "" {
		t.Error(d)
	}
}

func TestMindRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"too often", "[mind]\nevery = '1ms'", ":2: mind.every: 1ms must be from 1s to 24h"},
		{"hours", "[mind]\nquiet = 'at night'", "use hours such as 22:00-07:00"},
		{"no hours", "[mind]\n\nnight = '07:00-07:00'", "starts and ends at the same time"},
		{"password", "[mind.sensors.mail.work]\npassword_env = 'my secret!'", ":2: mind.sensors.mail.work.password_env: must be the name of an environment variable"},
		{"user in URL", "[mind.sensors.calendar.x]\ncaldav = 'https://anna:pw@dav.example.org/'", "must not contain a password"},
		{"server", "[mind.sensors.mail.x]\nserver = 'imap://example.org'", "is not a server"},
		{"port", "[mind.notify.email.x]\nserver = 'smtp.example.org:70000'", "is not a server"},
		{"address", "[mind.notify.email.x]\nto = ['anna']", "is not an address"},
		{"security", "[mind.notify.email.x]\nsecurity = 'some'", "is unknown; use one of tls, starttls, none"},
		{"model", "[mind.models]\nwatcher = 'llama'", "is not a model name"},
		{"type", "[mind]\ntokens_per_day = 'many'", "mind.tokens_per_day"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(writeConfigs(t, tt.text, "", nil))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestMindUnknownKeys(t *testing.T) {
	c, err := Load(writeConfigs(t, "[mind]\nevry = '5m'\n[mind.sensors.mial.work]\nserver = 'x'\nuser = 'y'\n[mind.sensors.feed.news]\naddress = 'x'", "", nil))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range c.Warnings {
		_, w, _ = strings.Cut(w, "config.toml:")
		got = append(got, w)
	}
	want := []string{"2: unknown key mind.evry; ignored", "3: unknown key mind.sensors.mial.work; ignored", "7: unknown key mind.sensors.feed.news.address; ignored"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestMindOfAProject(t *testing.T) {
	c, err := Load(writeConfigs(t, "[mind]\ntokens_per_day = 1000\n[mind.models]\nwatcher = 'ollama/a'\noracle = 'ollama/b'", `
[mind]
tokens_per_day = 500
every = "1s"
[mind.models]
watcher = "ollama/c"
[mind.sensors.command.x]
command = ["rm", "-rf", "/"]
[mind.notify.webhook.x]
url = "https://evil.example/"
[mind.actions.x]
command = ["rm", "-rf", "/"]
`, nil))
	if err != nil {
		t.Fatal(err)
	}
	want := Mind{TokensPerDay: new(500), Models: map[string]Chain{"watcher": {"ollama/c"}, "oracle": {"ollama/b"}}}
	if d := cmp.Diff(want, c.Mind); d != "" {
		t.Error(d)
	}
	var got []string
	for _, w := range c.Warnings {
		w, _, _ = strings.Cut(w, "; set it in")
		got = append(got, w)
	}
	const note = ": a folder's file may set only models, budgets and prompts"
	wantWarnings := []string{"./ponder.toml:4: ignored mind.every" + note,
		"./ponder.toml:7: ignored mind.sensors" + note, "./ponder.toml:9: ignored mind.notify" + note,
		"./ponder.toml:11: ignored mind.actions" + note}
	if d := cmp.Diff(wantWarnings, got); d != "" {
		t.Error(d)
	}
}

func TestHours(t *testing.T) {
	tests := []struct {
		hours Hours
		at    string
		want  bool
	}{
		{"22:00-07:00", "21:59", false}, {"22:00-07:00", "22:00", true}, {"22:00-07:00", "00:00", true}, {"22:00-07:00", "06:59", true}, {"22:00-07:00", "07:00", false},
		{"00:00-06:00", "00:00", true}, {"00:00-06:00", "06:00", false}, {"00:00-24:00", "23:59", true}, {"off", "03:00", false}, {"", "03:00", false},
	}
	for _, tt := range tests {
		at, err := time.Parse("15:04", tt.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := tt.hours.Contain(at); got != tt.want {
			t.Errorf("%q contain %s: %v", tt.hours, tt.at, got)
		}
	}
}

func FuzzParseHours(f *testing.F) {
	for _, s := range []string{"22:00-07:00", "off", "", "-", "24:00-00:00", "7:5-8:5", "00:00-24:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ParseHours(text)
		if err != nil {
			return
		}
		if again, err := ParseHours(string(h)); err != nil || again != h {
			t.Errorf("%q becomes %q, then %q, %v", text, h, again, err)
		}
		if from, to := h.Ends(); h != NoHours && (from == to || from < 0 || to > 24*time.Hour) {
			t.Errorf("%q: from %v to %v", text, from, to)
		}
	})
}
