package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/textkit"
	"ponder/knowledge/recall"
	"ponder/knowledge/web"
	"ponder/sensor"
	"ponder/sensor/calendar"
	"ponder/sensor/command"
	"ponder/sensor/feed"
	"ponder/sensor/files"
	"ponder/sensor/git"
	"ponder/sensor/mail"
	"ponder/sensor/own"
	"ponder/sensor/system"
	"ponder/store/sqlite"
)

type MindLook struct {
	Sensors []sensor.Sensor
	wire    *web.Fetcher
	shelf   *LibraryHandle
}

func (l *MindLook) Close() error {
	var errs []error
	for _, s := range l.Sensors {
		if s.Close != nil {
			errs = append(errs, s.Close())
		}
	}
	l.wire.Close()
	if l.shelf != nil {
		errs = append(errs, l.shelf.Close())
	}
	return errors.Join(errs...)
}

type joiner struct {
	a     *App
	cfg   *config.Config
	store *sqlite.Store
	look  *MindLook
	errs  []error
}

// MindSensors returns the configured sensors. An error names the table.
func (a *App) MindSensors(_ context.Context, store *sqlite.Store) (*MindLook, error) {
	cfg, err := a.Config()
	if err != nil {
		return nil, err
	}
	wire, err := a.fetcher(web.Options{IgnoreRobots: true}) // for feeds and calendars that the user subscribes to
	if err != nil {
		return nil, err
	}
	j := &joiner{a: a, cfg: cfg, store: store, look: &MindLook{wire: wire}}
	c := cfg.Mind.Sensors
	for name, m := range sorted(c.Mail) {
		j.add("mail", name, m.Off, func() (sensor.Sensor, error) { return j.mail(m) })
	}
	for name, f := range sorted(c.Feed) {
		j.add("feed", name, f.Off, func() (sensor.Sensor, error) { return j.feed(f) })
	}
	for name, c := range sorted(c.Calendar) {
		j.add("calendar", name, c.Off, func() (sensor.Sensor, error) { return j.calendar(c) })
	}
	for name, g := range sorted(c.Git) {
		j.add("git", name, g.Off, func() (sensor.Sensor, error) { return j.git(g) })
	}
	for name, f := range sorted(c.Files) {
		j.add("files", name, f.Off, func() (sensor.Sensor, error) { return j.files(f) })
	}
	for name, c := range sorted(c.Command) {
		j.add("command", name, c.Off, func() (sensor.Sensor, error) { return j.command(c) })
	}
	j.add("system", "", c.System.Off, func() (sensor.Sensor, error) {
		return system.New(system.Options{Mounts: j.paths(c.System.Mounts)}), nil
	})
	j.add("own", "", c.Own.Off, func() (sensor.Sensor, error) { return j.own(), nil })
	if err := errors.Join(j.errs...); err != nil {
		return nil, errors.Join(Errorf(codeOfMind(err), "", "%w", FirstError(err)), j.look.Close())
	}
	return j.look, nil
}

func codeOfMind(err error) Code {
	if errors.Is(err, config.ErrNotSet) {
		return NotReady
	}
	return Invalid
}

func sorted[V any](m map[string]V) func(yield func(string, V) bool) {
	return func(yield func(string, V) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}

func (j *joiner) add(kind, name string, off bool, build func() (sensor.Sensor, error)) {
	if off {
		return
	}
	full, table := kind, "mind.sensors."+kind
	if name != "" {
		full, table = kind+":"+name, table+"."+name
	}
	if err := nameOfTable(name); name != "" && err != nil {
		j.errs = append(j.errs, fmt.Errorf("%s: %w", table, err))
		return
	}
	s, err := build()
	if err != nil {
		j.errs = append(j.errs, fmt.Errorf("%s in %s: %w", table, j.cfg.File, err))
		return
	}
	s.Name = full
	j.look.Sensors = append(j.look.Sensors, s)
}

// maxTableName bounds names of sensors and channels, in bytes.
const maxTableName = 40

func nameOfTable(name string) error {
	ok := len(name) <= maxTableName && !slices.ContainsFunc([]rune(name), func(r rune) bool {
		return r != '-' && r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
	if !ok {
		return fmt.Errorf("%q is no name: letters, digits, - and _, at most %d", textkit.Truncate(textkit.OneLine(name), 40), maxTableName)
	}
	return nil
}

func (j *joiner) paths(list []string) (all []string) {
	for _, p := range list {
		all = append(all, j.cfg.Path(p))
	}
	return all
}

func (j *joiner) mail(m config.MailSensor) (sensor.Sensor, error) {
	password, err := j.cfg.Secret(m.PasswordEnv)
	if err != nil {
		return sensor.Sensor{}, err
	}
	return mail.New(mail.Options{
		Maildir: j.cfg.Path(m.Maildir), Server: m.Server, User: m.User, Password: string(password), Folders: m.Folders, StartTLS: m.StartTLS, Plain: m.Plain,
		Addresses: m.Addresses, Important: m.Important,
	})
}

func (j *joiner) feed(f config.FeedSensor) (sensor.Sensor, error) {
	if f.URL == "" {
		return sensor.Sensor{}, errors.New("url is missing")
	}
	return feed.New(feed.Options{URL: f.URL, Every: time.Duration(f.Every), Trusted: f.Trusted, Fetch: func(ctx context.Context, r feed.Request) (*feed.Response, error) {
		a, err := j.look.wire.Raw(ctx, web.RawRequest{URL: r.URL, ETag: r.ETag, Modified: r.Modified, MaxBytes: int64(r.MaxBytes)})
		if err != nil {
			return nil, err
		}
		return &feed.Response{Status: a.Status, Body: a.Body, ETag: a.ETag, Modified: a.Modified}, nil
	}}), nil
}

func (j *joiner) files(f config.FilesSensor) (sensor.Sensor, error) {
	if len(f.Paths) == 0 {
		return sensor.Sensor{}, errors.New("paths is missing")
	}
	return files.New(files.Options{Paths: j.paths(f.Paths), Ignore: f.Ignore, Trusted: f.Trusted}), nil
}

func (j *joiner) command(c config.CommandSensor) (sensor.Sensor, error) {
	if len(c.Command) == 0 {
		return sensor.Sensor{}, errors.New("command is missing")
	}
	return command.New(command.Options{
		Command: c.Command, Every: time.Duration(c.Every), Dir: j.cfg.Path(c.Dir), Env: c.Env, Limit: time.Duration(c.Limit), Trusted: c.Trusted,
	}), nil
}

// calendarTime limits a request to a calendar.
const calendarTime = 15 * time.Second

func (j *joiner) calendar(c config.CalendarSensor) (sensor.Sensor, error) {
	password, err := j.cfg.Secret(c.PasswordEnv)
	if err != nil {
		return sensor.Sensor{}, err
	}
	return calendar.New(calendar.Options{
		File: j.cfg.Path(c.File), URL: c.URL, CalDAV: c.CalDAV, User: c.User, Password: string(password), Ahead: time.Duration(c.Ahead),
		Client: &http.Client{Transport: j.look.wire.Transport(), Timeout: calendarTime},
	})
}

func (j *joiner) git(g config.GitSensor) (sensor.Sensor, error) {
	if g.Path == "" {
		return sensor.Sensor{}, errors.New("path is missing")
	}
	return git.New(git.Options{Path: j.cfg.Path(g.Path), Trusted: g.Trusted}), nil
}

func (j *joiner) own() sensor.Sensor {
	o := own.Options{Store: noThreads{}, Owner: LocalOwner}
	if j.store != nil {
		o.Store, o.Memories = j.store, j.memories
	}
	return own.New(o)
}

type noThreads struct{}

func (noThreads) List(context.Context, ponder.Filter) ([]ponder.Info, error) { return nil, nil }
func (noThreads) Events(context.Context, ponder.ThreadID, ponder.Seq) iter.Seq2[ponder.Event, error] {
	return func(func(ponder.Event, error) bool) {}
}

const mindSource = "subconscious"

// mostMemories is the number of newest memories that the sensor reads.
const mostMemories = 50

func (j *joiner) memories(ctx context.Context) (list []own.Memory, err error) {
	if j.look.shelf == nil {
		if j.look.shelf, err = j.a.OpenLibraryReadOnly(ctx); errors.Is(err, ErrNothingKnown) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	items, err := j.look.shelf.List(ctx, recall.Filter{Kinds: EvidenceKinds(), N: mostMemories})
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		text := it.Text
		if text == "" {
			text = it.Title
		}
		list = append(list, own.Memory{ID: it.ID, Text: text, Ours: it.Source == mindSource, Untrusted: ofOthers(it)})
	}
	return list, nil
}
