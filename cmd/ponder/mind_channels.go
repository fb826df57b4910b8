package main

import (
	"fmt"

	"ponder/internal/app"
	"ponder/sensor/notify"
)

// mindChannels returns the ways that are configured in which the user is told.
func (a *cli) mindChannels() (list []notify.Channel, err error) {
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
		if err = nameOfTable(name); err == nil {
			channel, err = build()
		}
		if err != nil {
			err = app.Errorf(codeOfMind(err), "", "%s.%s in %s: %w", table, name, cfg.File, err)
			return
		}
		list = append(list, channel)
	}
	for name, w := range sorted(c.Webhook) {
		add("mind.notify.webhook", name, w.Off, func() (notify.Channel, error) {
			if _, err := cfg.Secret(w.SecretEnv); err != nil {
				return notify.Channel{}, err
			}
			return notify.Webhook(notify.WebhookOptions{Name: "webhook-" + name, URL: w.URL, SecretEnv: w.SecretEnv})
		})
	}
	for name, e := range sorted(c.Email) {
		add("mind.notify.email", name, e.Off, func() (notify.Channel, error) {
			if _, err := cfg.Secret(e.PasswordEnv); err != nil {
				return notify.Channel{}, err
			}
			return notify.Mail(notify.MailOptions{
				Name: "email-" + name, Server: e.Server, Security: e.Security, Plain: e.Plain, User: e.User, PasswordEnv: e.PasswordEnv, From: e.From, To: e.To,
			})
		})
	}
	if err != nil {
		return nil, fmt.Errorf("how to tell the user: %w", err)
	}
	return list, nil
}
