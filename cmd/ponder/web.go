package main

import (
	"ponder/archive"
	"ponder/web"
)

// fetcher returns what reads pages of the web and archives them.
func (a *app) fetcher(kept *archive.Archive) (*web.Fetcher, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, err
	}
	for _, host := range cfg.Web.Allow {
		if err := web.CheckAllow(host); err != nil {
			return nil, usagef("web.allow in %s: %w", cfg.File, err)
		}
	}
	return web.New(web.Options{Archive: kept, Allow: cfg.Web.Allow, UserAgent: "Ponder/" + thisBuild().Version}), nil
}
