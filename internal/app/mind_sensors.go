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
	ponderthreads "ponder/sensor/ponder"
	"ponder/sensor/system"
	"ponder/store/sqlite"
)

type SensorSet struct {
	Sensors []sensor.Sensor
	fetcher *web.Fetcher
	library *LibraryHandle
}

func (l *SensorSet) Close() error {
	var errs []error
	for _, s := range l.Sensors {
		if s.Close != nil {
			errs = append(errs, s.Close())
		}
	}
	l.fetcher.Close()
	if l.library != nil {
		errs = append(errs, l.library.Close())
	}
	return errors.Join(errs...)
}

type sensorBuilder struct {
	a       *App
	cfg     *config.Config
	store   *sqlite.Store
	sensors *SensorSet
	errs    []error
}

// MindSensors returns the configured sensors. An error names the table.
func (a *App) MindSensors(_ context.Context, store *sqlite.Store) (*SensorSet, error) {
	cfg, err := a.Config()
	if err != nil {
		return nil, err
	}
	wire, err := a.newFetcher(web.Options{IgnoreRobots: true}) // for feeds and calendars that the user subscribes to
	if err != nil {
		return nil, err
	}
	j := &sensorBuilder{a: a, cfg: cfg, store: store, sensors: &SensorSet{fetcher: wire}}
	c := cfg.Mind.Sensors
	for name, m := range sortedEntries(c.Mail) {
		j.addSensor("mail", name, m.Off, func() (sensor.Sensor, error) { return j.mailSensor(m) })
	}
	for name, f := range sortedEntries(c.Feed) {
		j.addSensor("feed", name, f.Off, func() (sensor.Sensor, error) { return j.feedSensor(f) })
	}
	for name, c := range sortedEntries(c.Calendar) {
		j.addSensor("calendar", name, c.Off, func() (sensor.Sensor, error) { return j.calendarSensor(c) })
	}
	for name, g := range sortedEntries(c.Git) {
		j.addSensor("git", name, g.Off, func() (sensor.Sensor, error) { return j.gitSensor(g) })
	}
	for name, f := range sortedEntries(c.Files) {
		j.addSensor("files", name, f.Off, func() (sensor.Sensor, error) { return j.fileSensor(f) })
	}
	for name, c := range sortedEntries(c.Command) {
		j.addSensor("command", name, c.Off, func() (sensor.Sensor, error) { return j.commandSensor(c) })
	}
	j.addSensor("system", "", c.System.Off, func() (sensor.Sensor, error) {
		return system.New(system.Options{Mounts: j.resolvePaths(c.System.Mounts)}), nil
	})
	j.addSensor("own", "", c.Own.Off, func() (sensor.Sensor, error) { return j.ponderSensor(), nil })
	if err := errors.Join(j.errs...); err != nil {
		return nil, errors.Join(Errorf(codeOfMind(err), "", "%w", FirstError(err)), j.sensors.Close())
	}
	return j.sensors, nil
}

func codeOfMind(err error) Code {
	if errors.Is(err, config.ErrNotSet) {
		return NotReady
	}
	return Invalid
}

func sortedEntries[V any](m map[string]V) func(yield func(string, V) bool) {
	return func(yield func(string, V) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}

func (j *sensorBuilder) addSensor(kind, name string, off bool, build func() (sensor.Sensor, error)) {
	if off {
		return
	}
	full, table := kind, "mind.sensors."+kind
	if name != "" {
		full, table = kind+":"+name, table+"."+name
	}
	if err := checkTableName(name); name != "" && err != nil {
		j.errs = append(j.errs, fmt.Errorf("%s: %w", table, err))
		return
	}
	s, err := build()
	if err != nil {
		j.errs = append(j.errs, fmt.Errorf("%s in %s: %w", table, j.cfg.File, err))
		return
	}
	s.Name = full
	j.sensors.Sensors = append(j.sensors.Sensors, s)
}

// maxTableName bounds names of sensors and channels, in bytes.
const maxTableName = 40

func checkTableName(name string) error {
	ok := len(name) <= maxTableName && !slices.ContainsFunc([]rune(name), func(r rune) bool {
		return r != '-' && r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
	if !ok {
		return fmt.Errorf("%q is not a valid name: use letters, digits, - and _, at most %d", textkit.Truncate(textkit.OneLine(name), 40), maxTableName)
	}
	return nil
}

func (j *sensorBuilder) resolvePaths(list []string) (all []string) {
	for _, p := range list {
		all = append(all, j.cfg.Path(p))
	}
	return all
}

func (j *sensorBuilder) mailSensor(m config.MailSensor) (sensor.Sensor, error) {
	password, err := j.cfg.Secret(m.PasswordEnv)
	if err != nil {
		return sensor.Sensor{}, err
	}
	return mail.New(mail.Options{
		Maildir: j.cfg.Path(m.Maildir), Server: m.Server, User: m.User, Password: string(password), Folders: m.Folders, StartTLS: m.StartTLS, Plain: m.Plain,
		Addresses: m.Addresses, Important: m.Important,
	})
}

func (j *sensorBuilder) feedSensor(f config.FeedSensor) (sensor.Sensor, error) {
	if f.URL == "" {
		return sensor.Sensor{}, errors.New("url is missing")
	}
	return feed.New(feed.Options{URL: f.URL, Every: time.Duration(f.Every), Trusted: f.Trusted, Fetch: func(ctx context.Context, r feed.Request) (*feed.Response, error) {
		a, err := j.sensors.fetcher.Raw(ctx, web.RawRequest{URL: r.URL, ETag: r.ETag, Modified: r.Modified, MaxBytes: int64(r.MaxBytes)})
		if err != nil {
			return nil, err
		}
		return &feed.Response{Status: a.Status, Body: a.Body, ETag: a.ETag, Modified: a.Modified}, nil
	}}), nil
}

func (j *sensorBuilder) fileSensor(f config.FilesSensor) (sensor.Sensor, error) {
	if len(f.Paths) == 0 {
		return sensor.Sensor{}, errors.New("paths is missing")
	}
	return files.New(files.Options{Paths: j.resolvePaths(f.Paths), Ignore: f.Ignore, Trusted: f.Trusted}), nil
}

func (j *sensorBuilder) commandSensor(c config.CommandSensor) (sensor.Sensor, error) {
	if len(c.Command) == 0 {
		return sensor.Sensor{}, errors.New("command is missing")
	}
	return command.New(command.Options{
		Command: c.Command, Every: time.Duration(c.Every), Dir: j.cfg.Path(c.Dir), Env: c.Env, Limit: time.Duration(c.Limit), Trusted: c.Trusted,
	}), nil
}

// calendarTime limits a request to a calendar.
const calendarTime = 15 * time.Second

func (j *sensorBuilder) calendarSensor(c config.CalendarSensor) (sensor.Sensor, error) {
	password, err := j.cfg.Secret(c.PasswordEnv)
	if err != nil {
		return sensor.Sensor{}, err
	}
	return calendar.New(calendar.Options{
		File: j.cfg.Path(c.File), URL: c.URL, CalDAV: c.CalDAV, User: c.User, Password: string(password), Ahead: time.Duration(c.Ahead),
		Client: &http.Client{Transport: j.sensors.fetcher.Transport(), Timeout: calendarTime},
	})
}

func (j *sensorBuilder) gitSensor(g config.GitSensor) (sensor.Sensor, error) {
	if g.Path == "" {
		return sensor.Sensor{}, errors.New("path is missing")
	}
	return git.New(git.Options{Path: j.cfg.Path(g.Path), Trusted: g.Trusted}), nil
}

func (j *sensorBuilder) ponderSensor() sensor.Sensor {
	o := ponderthreads.Options{Store: noThreads{}, Owner: LocalOwner}
	if j.store != nil {
		o.Store, o.Memories = j.store, j.listMemories
	}
	return ponderthreads.New(o)
}

type noThreads struct{}

func (noThreads) List(context.Context, ponder.Filter) ([]ponder.Info, error) { return nil, nil }
func (noThreads) Events(context.Context, ponder.ThreadID, ponder.Seq) iter.Seq2[ponder.Event, error] {
	return func(func(ponder.Event, error) bool) {}
}

const mindSource = "subconscious"

// maxMemories is the number of newest memories that the sensor reads.
const maxMemories = 50

func (j *sensorBuilder) listMemories(ctx context.Context) (list []ponderthreads.Memory, err error) {
	if j.sensors.library == nil {
		if j.sensors.library, err = j.a.OpenLibraryReadOnly(ctx); errors.Is(err, ErrNothingKnown) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	items, err := j.sensors.library.List(ctx, recall.Filter{Kinds: EvidenceKinds(), N: maxMemories})
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		text := it.Text
		if text == "" {
			text = it.Title
		}
		list = append(list, ponderthreads.Memory{ID: it.ID, Text: text, FromSubconscious: it.Source == mindSource, Untrusted: ofOthers(it)})
	}
	return list, nil
}
