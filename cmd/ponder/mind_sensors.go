package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/knowledge/web"
	"ponder/sensor"
	"ponder/sensor/system"
	"ponder/store/sqlite"
)

// A mindLook is the sensors that are configured, and what they look through.
type mindLook struct {
	sensors []sensor.Sensor
	wire    *web.Fetcher
	shelf   *app.LibraryHandle // nil before it is looked at
}

// close gives up what the sensors hold.
func (l *mindLook) close() error {
	var errs []error
	for _, s := range l.sensors {
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

// A joiner makes the sensors of a configuration.
type joiner struct {
	a     *cli
	cfg   *config.Config
	store *sqlite.Store
	look  *mindLook
	errs  []error
}

// mindSensors returns the sensors that are configured. An error names the table that is
// wrong.
func (a *cli) mindSensors(_ context.Context, store *sqlite.Store) (*mindLook, error) {
	cfg, err := a.Config()
	if err != nil {
		return nil, err
	}
	wire, err := a.wire(cfg)
	if err != nil {
		return nil, err
	}
	j := &joiner{a: a, cfg: cfg, store: store, look: &mindLook{wire: wire}}
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
		return nil, errors.Join(app.Errorf(codeOfMind(err), "", "%w", app.FirstError(err)), j.look.close())
	}
	return j.look, nil
}

// codeOfMind returns the code of what is wrong with the configuration of a sensor.
func codeOfMind(err error) app.Code {
	if errors.Is(err, config.ErrNotSet) {
		return app.NotReady
	}
	return app.Invalid
}

// sorted iterates over a map by its keys in order.
func sorted[V any](m map[string]V) func(yield func(string, V) bool) {
	return func(yield func(string, V) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}

// add makes a sensor of a kind with a name that the user chose.
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
	j.look.sensors = append(j.look.sensors, s)
}

// maxTableName bounds the names of sensors and channels, in bytes.
const maxTableName = 40

// nameOfTable checks a name that the user chose for a sensor or a channel.
func nameOfTable(name string) error {
	ok := len(name) <= maxTableName && !slices.ContainsFunc([]rune(name), func(r rune) bool {
		return r != '-' && r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
	if !ok {
		return fmt.Errorf("%q is no name: letters, digits, - and _, at most %d", clip(oneLine(name), 40), maxTableName)
	}
	return nil
}

// paths returns paths with the home folder in place.
func (j *joiner) paths(list []string) (all []string) {
	for _, p := range list {
		all = append(all, j.cfg.Path(p))
	}
	return all
}

// wire returns what fetches feeds and calendars that the user has named: like pages, but
// robots are not asked, for it is the user who reads.
func (a *cli) wire(cfg *config.Config) (*web.Fetcher, error) {
	for _, host := range cfg.Web.Allow {
		if err := web.CheckAllow(host); err != nil {
			return nil, usagef("web.allow in %s: %w", cfg.File, err)
		}
	}
	return web.New(web.Options{Allow: cfg.Web.Allow, UserAgent: "Ponder/" + thisBuild().Version, IgnoreRobots: true}), nil
}
