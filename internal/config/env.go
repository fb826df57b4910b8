package config

import (
	"fmt"
	"strings"
)

// readEnv puts what the environment says over what there is.
func (c *Config) readEnv() error {
	if db := c.env("PONDER_DB"); db != "" {
		c.DB, c.origin["db"] = db, "environment"
	}
	for name, chain := range map[string]*Chain{
		"fast": &c.Models.Fast, "slow": &c.Models.Slow, "cheap": &c.Models.Cheap,
		"frontier": &c.Models.Frontier, "embed": &c.Models.Embed,
	} {
		variable := "PONDER_MODEL_" + strings.ToUpper(name)
		value := c.env(variable)
		if value == "" {
			continue
		}
		models, err := ParseChain(value)
		if err != nil {
			return fmt.Errorf("%s: %w", variable, err)
		}
		*chain, c.origin["models."+name] = models, variable
	}
	if deep := c.env("OPENAI_DEEP_THINK_MODEL"); deep != "" {
		if !strings.Contains(deep, "/") {
			deep = "openai/" + deep
		}
		c.Models.Deep = deep
	}
	c.Token = Secret(c.env("PONDER_TOKEN"))
	c.Search = Search{
		Exa: Secret(c.env("EXA_API_KEY")), Brave: Secret(c.env("BRAVE_API_KEY")), Tavily: Secret(c.env("TAVILY_API_KEY")),
		SearXNG: c.env("SEARXNG_URL"),
	}
	return nil
}
