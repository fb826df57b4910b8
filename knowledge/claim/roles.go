package claim

// checkRoles notes that two names have changed places: the claim says that A did to B
// what the source says that B did to A. It looks at claims with one word between two
// names that the best sentence has too, neither of them passive.
func (c *check) checkRoles() {
	u := &c.units[c.windows[0].unit]
	for i := 0; i+1 < len(c.terms); i++ {
		a, verb, b := c.roles(i)
		if verb < 0 {
			continue
		}
		x, y, z := c.placed(u, a), c.placed(u, verb), c.placed(u, b)
		if x < 0 || y < 0 || z < 0 {
			continue
		}
		if z < y && y < x && x-z <= 12 && c.passive == u.passive {
			c.turned, c.against = "in the source "+c.terms[b].fold+" and "+c.terms[a].fold+" have changed places", u
		}
	}
}

// roles returns the next name from i on, a word that is none, and the name behind that;
// verb is -1 if they do not stand so.
func (c *check) roles(i int) (a, verb, b int) {
	if !c.view.names[i] || i+2 >= len(c.terms) || c.view.names[i+1] {
		return 0, -1, 0
	}
	for k := i + 2; k < len(c.terms) && k <= i+3; k++ {
		if c.view.names[k] {
			return i, i + 1, k
		}
	}
	return 0, -1, 0
}

// placed returns where the only word of a sentence that bears a term out stands, or -1.
func (c *check) placed(u *unit, i int) int {
	at := -1
	for k, id := range u.ids {
		if c.resembles(i, id) {
			if at >= 0 {
				return -1
			}
			at = u.terms[k].nth
		}
	}
	return at
}
