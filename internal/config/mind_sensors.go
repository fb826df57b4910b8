package config

import "fmt"

// Sensors configure the sensors by kind and by the user's names. System and Own are on by
// default.
type Sensors struct {
	Mail     map[string]MailSensor     `toml:"mail"`
	Calendar map[string]CalendarSensor `toml:"calendar"`
	Files    map[string]FilesSensor    `toml:"files"`
	Feed     map[string]FeedSensor     `toml:"feed"`
	Git      map[string]GitSensor      `toml:"git"`
	Command  map[string]CommandSensor  `toml:"command"`
	System   SystemSensor              `toml:"system"`
	Own      OwnSensor                 `toml:"own"`
}

type MailSensor struct {
	Off         bool     `toml:"off"`
	Maildir     string   `toml:"maildir"` // a folder, or Server
	Server      string   `toml:"server"`
	User        string   `toml:"user"`
	PasswordEnv string   `toml:"password_env"`
	Folders     []string `toml:"folders"`  // empty: INBOX
	StartTLS    bool     `toml:"starttls"` // encrypt after the greeting, on port 143
	Plain       bool     `toml:"plain"`    // no encryption; only for this machine
	Addresses   []string `toml:"addresses"`
	Important   []string `toml:"important"` // important senders: addresses, or domains such as @example.org
}

type CalendarSensor struct {
	Off         bool     `toml:"off"`
	File        string   `toml:"file"`
	URL         string   `toml:"url"`
	CalDAV      string   `toml:"caldav"`
	User        string   `toml:"user"`
	PasswordEnv string   `toml:"password_env"`
	Ahead       Duration `toml:"ahead"` // how far to look ahead; zero: 72h
}

type FilesSensor struct {
	Off     bool     `toml:"off"`
	Paths   []string `toml:"paths"`
	Ignore  []string `toml:"ignore"`  // patterns of names, or of paths below a folder
	Trusted bool     `toml:"trusted"` // no untrusted writers
}

type FeedSensor struct {
	Off     bool     `toml:"off"`
	URL     string   `toml:"url"`
	Every   Duration `toml:"every"`   // minimal interval of requests; zero: 15m
	Trusted bool     `toml:"trusted"` // no untrusted writers
}

type GitSensor struct {
	Off     bool   `toml:"off"`
	Path    string `toml:"path"`
	Trusted bool   `toml:"trusted"`
}

type CommandSensor struct {
	Off     bool     `toml:"off"`
	Command []string `toml:"command"`
	Every   Duration `toml:"every"`
	Dir     string   `toml:"dir"`
	Env     []string `toml:"env"`     // names of variables passed on, besides PATH, HOME and LANG
	Limit   Duration `toml:"limit"`   // up to 15s
	Trusted bool     `toml:"trusted"` // no untrusted text in its output
}

type SystemSensor struct {
	Off    bool     `toml:"off"`
	Mounts []string `toml:"mounts"` // folders of watched disks
}

type OwnSensor struct {
	Off bool `toml:"off"`
}

type Notify struct {
	Desktop bool               `toml:"desktop"`
	Webhook map[string]Webhook `toml:"webhook"`
	Email   map[string]Email   `toml:"email"`
}

// A Webhook is notified by Standard Webhooks.
type Webhook struct {
	Off       bool   `toml:"off"`
	URL       string `toml:"url"`
	SecretEnv string `toml:"secret_env"`
}

type Email struct {
	Off         bool     `toml:"off"`
	Server      string   `toml:"server"`
	Plain       bool     `toml:"plain"`    // no encryption; only for this machine
	Security    string   `toml:"security"` // tls, starttls or none; empty: by port
	User        string   `toml:"user"`
	PasswordEnv string   `toml:"password_env"`
	From        string   `toml:"from"`
	To          []string `toml:"to"`
}

func mindKeys() []Key {
	keys := []Key{
		{"mind.every", "time between ticks of the subconscious, such as 5m", intervalLiteral},
		{"mind.cooldown", "time between escalations, such as 15m", durationLiteral},
		{"mind.tokens_per_day", "maximum tokens of the subconscious per day", countLiteral},
		{"mind.cost_per_day", "maximum cost of the subconscious per day in US dollars", dollarsLiteral},
		{"mind.quiet", "hours without messages, such as 22:00-07:00; off for none", hoursLiteral},
		{"mind.night", "hours without ticks, such as 00:00-06:00; off for none", hoursLiteral},
		{"mind.feed", "send entries to conversations and sessions: true or false", boolLiteral},
		{"mind.roles", "folder of role files in Markdown", textLiteral},
		{"mind.web", "allow roles to search the web: true or false", boolLiteral},
		{"mind.models.*", "model of a role such as watcher, or of escalation", chainLiteral},
		{"mind.notify.desktop", "show desktop notifications: true or false", boolLiteral},
	}
	for _, t := range mindTables() {
		for _, k := range t.keys {
			keys = append(keys, Key{t.table + "." + k.Name, k.Doc, k.literal})
		}
		keys = append(keys, Key{t.table + ".off", "ignore it: true or false", boolLiteral})
	}
	return keys
}

type keyTable struct {
	table string
	keys  []Key
}

func mindTables() []keyTable {
	trusted := Key{"trusted", "no strangers write to it: true or false", boolLiteral}
	user, password := Key{"user", "user name", textLiteral}, Key{"password_env", "environment variable with the password", variableLiteral}
	return []keyTable{
		{"mind.sensors.mail.*", []Key{
			{"maildir", "folder with mail", textLiteral}, {"server", "IMAP server", hostPort}, user, password,
			{"folders", "folders of the mailbox", listLiteral},
			{"starttls", "use STARTTLS: true or false", boolLiteral},
			{"plain", "connect without encryption, only on this machine: true or false", boolLiteral},
			{"addresses", "the user's own addresses", addressesLiteral},
			{"important", "addresses or domains (@example.org) with important mail", listLiteral},
		}},
		{"mind.sensors.calendar.*", []Key{
			{"file", "ICS file", textLiteral}, {"url", "URL of an ICS file", calendarLink}, {"caldav", "URL of a CalDAV server", urlLiteral}, user, password,
			{"ahead", "how far ahead to read, such as 72h", durationLiteral},
		}},
		{"mind.sensors.files.*", []Key{{"paths", "folders to watch", listLiteral}, {"ignore", "patterns of names to ignore, such as *.tmp", listLiteral}, trusted}},
		{"mind.sensors.feed.*", []Key{{"url", "URL of an RSS or Atom feed", urlLiteral}, {"every", "time between two reads, such as 15m", durationLiteral}, trusted}},
		{"mind.sensors.git.*", []Key{{"path", "folder of a Git repository", textLiteral}, trusted}},
		{"mind.sensors.command.*", []Key{
			{"command", "a program and its arguments", listLiteral}, {"every", "time between two runs, such as 15m", durationLiteral}, {"dir", "working folder", textLiteral},
			{"env", "names of variables to pass to the program", variablesLiteral}, {"limit", "maximum time of a run, such as 10s", durationLiteral}, trusted,
		}},
		{"mind.sensors.system", []Key{{"mounts", "folders on the disks to watch", listLiteral}}},
		{"mind.sensors.own", nil},
		{"mind.actions.*", actionKeys()},
		{"mind.notify.webhook.*", []Key{{"url", "URL of the receiver", urlLiteral}, {"secret_env", "environment variable with the secret", variableLiteral}}},
		{"mind.notify.email.*", []Key{
			{"server", "SMTP server, with a port", hostPort}, {"security", "tls, starttls or none", oneOfLiteral("tls", "starttls", "none")}, {"plain", "connect without encryption, only on this machine: true or false", boolLiteral}, user, password, {"from", "address of the sender", addressLiteral}, {"to", "addresses to write to", addressesLiteral},
		}},
	}
}

func intervalLiteral(v string) (string, error) {
	d, err := ParseDuration(v)
	if err == nil && (d < minEvery || d > maxEvery) {
		err = fmt.Errorf("%s must be from %s to %s", Duration(d), Duration(minEvery), Duration(maxEvery))
	}
	return quoteTOML(Duration(d).String()), err
}

func hoursLiteral(v string) (string, error) {
	h, err := ParseHours(v)
	return quoteTOML(string(h)), err
}
