package auth

import "slices"

// Owners returns the distinct owners of tokens, or the default owner without tokens.
func (g *Guard) Owners() (list []string) {
	if len(g.cfg.Tokens) == 0 {
		return []string{g.cfg.Owner}
	}
	for _, t := range g.cfg.Tokens {
		list = append(list, t.Owner)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
