package main

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
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
)

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

// calendarTime is how long a request of a calendar may take.
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

// own returns the sensor of Ponder's own threads and memories.
func (j *joiner) own() sensor.Sensor {
	o := own.Options{Store: noThreads{}, Owner: app.LocalOwner}
	if j.store != nil {
		o.Store, o.Memories = j.store, j.memories
	}
	return own.New(o)
}

// noThreads are those of a database that is not there yet.
type noThreads struct{}

func (noThreads) List(context.Context, ponder.Filter) ([]ponder.Info, error) { return nil, nil }
func (noThreads) Events(context.Context, ponder.ThreadID, ponder.Seq) iter.Seq2[ponder.Event, error] {
	return func(func(ponder.Event, error) bool) {}
}

// mindSource is where what the subconscious has remembered is from.
const mindSource = "subconscious"

// mostMemories is how many of the newest memories are looked at.
const mostMemories = 50

// memories returns what was remembered last.
func (j *joiner) memories(ctx context.Context) (list []own.Memory, err error) {
	if j.look.shelf == nil {
		if j.look.shelf, err = j.a.OpenLibraryReadOnly(ctx); errors.Is(err, app.ErrNothingKnown) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	items, err := j.look.shelf.List(ctx, recall.Filter{Kinds: app.EvidenceKinds(), N: mostMemories})
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
