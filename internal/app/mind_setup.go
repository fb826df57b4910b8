package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/config"
	"ponder/internal/fileio"
	"ponder/internal/limitio"
	"ponder/internal/mindrunner"
	"ponder/internal/placement"
	"ponder/llm"
	"ponder/mode/subconscious"
	"ponder/sensor/notify"
	"ponder/store/sqlite"
	"ponder/tool/memory"
)

type MindRuntime struct {
	*mindrunner.Runner
	Cast    *MindModels
	options subconscious.Options
	actions *mindActions
	closers []func() error
}

func (h *MindRuntime) Close() error {
	var errs []error
	for i := len(h.closers) - 1; i >= 0; i-- {
		errs = append(errs, h.closers[i]())
	}
	h.closers = nil
	return errors.Join(errs...)
}

// OpenMindRuntime opens the subconscious of a database. The caller closes it before the database.
func (a *App) OpenMindRuntime(ctx context.Context, store *sqlite.Store) (*MindRuntime, error) {
	h := &MindRuntime{}
	if err := a.setUpMind(ctx, store, h); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

func (a *App) setUpMind(ctx context.Context, store *sqlite.Store, h *MindRuntime) (err error) {
	if h.Cast, err = a.MindCastOf(ctx); err != nil {
		return err
	}
	if h.actions, err = a.MindActions(store); err != nil {
		return err
	}
	h.options = h.actions.addActions(a.MindOptions(h.Cast))
	look, err := a.MindSensors(ctx, store)
	if err != nil {
		return err
	}
	h.closers = append(h.closers, look.Close)
	channels, err := a.MindChannels()
	if err != nil {
		return err
	}
	where, err := a.mindPlace(ctx, store, h)
	if err != nil {
		return err
	}
	h.Runner, err = mindrunner.New(MindConfig(a.Settings, mindrunner.Config{
		Store: store, Placement: where, Sensors: look.Sensors, Owner: LocalOwner, Options: h.options, Channels: channels, LookUp: a.newRoleLookup(store, h.Cast.roles).lookUp,
		ExternalCost: h.actions.log.sessionCostToday,
	}))
	return err
}

func (a *App) MindCastOf(ctx context.Context) (*MindModels, error) {
	roles, err := a.MindRoles()
	if err != nil {
		return nil, err
	}
	if a.Settings.Mind.Web && !searchesWeb(a.Settings) {
		a.Notef("mind.web has no effect: %v", ErrNoSearch)
	}
	return a.mindCast(ctx, mindLooks(a.Settings, roles))
}

// MindOptions returns the options of its modes. The only action besides notifying is to
// remember.
func (a *App) MindOptions(c *MindModels) subconscious.Options {
	return subconscious.Options{
		Roles: c.roles, NoDecider: !c.decides,
		Rules: subconscious.Rules{Roles: c.roles, Cooldown: time.Duration(a.Settings.Mind.Cooldown), Same: c.isSimilar},
		Gate: func(call llm.ToolCall) string {
			if call.Name != memory.RememberName {
				return call.Name + " is not to be used by the subconscious: tell the user"
			}
			return ""
		},
	}
}

// mindPlace opens the engine and the placement. Only one process runs a subconscious, so it
// keeps its schedules in memory.
func (a *App) mindPlace(ctx context.Context, store *sqlite.Store, h *MindRuntime) (mindrunner.Placement, error) {
	keeper := a.memoryWriter(store)
	h.closers = append(h.closers, func() error { keeper.close(); return nil })
	node := placement.CurrentNode()
	tools := append(memory.New(memory.Options{Keep: keeper.saveItems, Source: mindSource}), h.actions.Tools...)
	mind, err := engine.New(engine.Config{Store: store, Modes: subconscious.New(h.options), Models: h.Cast.models, Tools: tools, Node: node})
	if err != nil {
		return nil, err
	}
	if err := mind.Open(ctx); err != nil {
		return nil, fmt.Errorf("open the engine: %w", err)
	}
	config := placement.Config{Store: store, DB: store.DB(), Node: node, Work: a.guardWork(mind.Work)}
	lasting, err := placement.Open(ctx, config)
	if err != nil {
		return nil, errors.Join(err, mind.Close(context.WithoutCancel(ctx)))
	}
	where := mindPlace{lasting, placement.Memory(config)}
	h.closers = append(h.closers, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CloseTime)
		defer cancel()
		return errors.Join(where.ticks.Close(ctx), lasting.Close(ctx), mind.Close(ctx))
	})
	return where, nil
}

type mindPlace struct {
	*placement.Placement
	ticks *placement.Placement
}

func (p mindPlace) Schedule(ctx context.Context, name, cron string, tick func(context.Context, time.Time) error) error {
	return p.ticks.Schedule(ctx, name, cron, tick)
}

func MindConfig(cfg *config.Config, c mindrunner.Config) mindrunner.Config {
	m := cfg.Mind
	c.Every = time.Duration(m.Every)
	c.Night.From, c.Night.To = m.NightHours().Ends()
	c.Quiet.From, c.Quiet.To = m.QuietHours().Ends()
	c.TokensPerDay, c.MoneyPerDay = m.Tokens(), ponder.Money(math.Round(m.Dollars()*1e6))
	if c.TokensPerDay == 0 {
		c.TokensPerDay = -1 // in the minder, zero is no limit
	}
	if c.MoneyPerDay == 0 {
		c.MoneyPerDay = -1
	}
	return c
}

func (a *App) MindChannels() (list []notify.Channel, err error) {
	cfg, err := a.Config()
	if err != nil {
		return nil, err
	}
	c := cfg.Mind.Notify
	if c.Desktop {
		list = append(list, notify.Desktop())
	}
	add := func(table, name string, off bool, build func() (notify.Channel, error)) {
		if off || err != nil {
			return
		}
		var channel notify.Channel
		if err = checkTableName(name); err == nil {
			channel, err = build()
		}
		if err != nil {
			err = Errorf(codeOfMind(err), "", "%s.%s in %s: %w", table, name, cfg.File, err)
			return
		}
		list = append(list, channel)
	}
	for name, w := range sortedEntries(c.Webhook) {
		add("mind.notify.webhook", name, w.Off, func() (notify.Channel, error) {
			secret, err := cfg.Secret(w.SecretEnv)
			if err != nil {
				return notify.Channel{}, err
			}
			return notify.Webhook(notify.WebhookOptions{Name: "webhook-" + name, URL: w.URL, Secret: string(secret)})
		})
	}
	for name, e := range sortedEntries(c.Email) {
		add("mind.notify.email", name, e.Off, func() (notify.Channel, error) {
			password, err := cfg.Secret(e.PasswordEnv)
			if err != nil {
				return notify.Channel{}, err
			}
			return notify.Mail(notify.MailOptions{
				Name: "email-" + name, Server: e.Server, Security: e.Security, Plain: e.Plain, User: e.User, Password: string(password), From: e.From, To: e.To,
			})
		})
	}
	if err != nil {
		return nil, fmt.Errorf("configure notifications: %w", err)
	}
	return list, nil
}

const (
	maxRoleBytes = 64 << 10 // bytes read of a role file
	maxOwnRoles  = 12
)

// MindRoles returns the built-in roles and the user's. A user's role replaces a built-in one of
// its name.
func (a *App) MindRoles() ([]subconscious.Role, error) {
	cfg, err := a.Config()
	if err != nil {
		return nil, err
	}
	roles, dir := subconscious.DefaultRoles(), cfg.MindRoles()
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) && cfg.Mind.Roles == "" {
		return roles, nil
	}
	if err != nil {
		return nil, Invalidf("", "mind.roles: %w", err)
	}
	n := 0
	for _, f := range files {
		if f.IsDir() || !strings.HasSuffix(f.Name(), ".md") || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		if n++; n > maxOwnRoles {
			return nil, Invalidf("", "%s has more than %d roles", dir, maxOwnRoles)
		}
		role, err := readRole(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, Invalidf("", "%w", err)
		}
		if i := slices.IndexFunc(roles, func(r subconscious.Role) bool { return r.Name == role.Name }); i >= 0 {
			roles[i] = role
			continue
		}
		roles = append(roles, role)
	}
	return roles, nil
}

func readRole(file string) (subconscious.Role, error) {
	text, err := fileio.ReadFile(file, maxRoleBytes)
	if err != nil && !errors.Is(err, limitio.ErrTooLarge) {
		return subconscious.Role{}, fmt.Errorf("read role: %w", err)
	}
	role, err := subconscious.ReadRole(filepath.Base(file), text)
	if err != nil {
		return role, fmt.Errorf("%s: %w", file, err)
	}
	return role, nil
}
