package claim

import "math"

// features are what a score is made of, each 0 to 1.
type features struct {
	cover   float64 // share of the claim that the best places have together
	own     float64 // share that the best sentence has
	window  float64 // share around it
	pairs   float64 // share of words that stand side by side in the claim, and around there too
	missed  float64 // words that nothing there resembles, of eight
	figures float64 // figures and dates that nothing bears out, of two
	names   float64 // names that nothing has, of three
	doubt   float64 // a negation, a rival or a weaker word
}

// weights are those of a logistic regression.
var weights = struct {
	features
	base float64
}{features{cover: 1, own: 1.5, window: 2.5, pairs: 0.5, missed: -0.6, figures: -1.3, names: -2, doubt: -0.3}, -2.6}

// features returns what was seen, as numbers.
func (c *check) features() features {
	if len(c.windows) == 0 {
		return features{missed: 1}
	}
	f := features{cover: c.cover, own: c.windows[0].own, window: c.windows[0].cover, pairs: c.pairs()}
	for _, x := range c.credit {
		if x < 0.5 {
			f.missed += 1.0 / 8
		}
	}
	f.missed = min(1, f.missed)
	f.figures = min(1, float64(c.figures)/2)
	f.names = min(1, float64(len(c.missing))/3)
	if c.turned != "" || c.rival != "" {
		f.doubt = 1
	} else if c.weaker != "" {
		f.doubt = 0.5
	}
	return f
}

// dot returns the sum of products of features.
func (f features) dot(o features) float64 {
	return f.cover*o.cover + f.own*o.own + f.window*o.window + f.pairs*o.pairs + f.missed*o.missed + f.figures*o.figures + f.names*o.names + f.doubt*o.doubt
}

// score returns how well the quotes bear a claim out.
func (f features) score() float64 {
	return 1 / (1 + math.Exp(-f.dot(weights.features)-weights.base))
}

// pairs returns the share of the claim's terms that stand beside each other which do so
// around the best window too, with at most two words between them.
func (c *check) pairs() float64 {
	if len(c.terms) < 2 {
		return c.cover
	}
	sum, n := 0.0, 0.0
	for i := 0; i+1 < len(c.terms); i++ {
		w := c.weights[i] + c.weights[i+1]
		n += w
		found := false
		c.around(&c.windows[0], 1, func(u *unit) bool {
			found = c.beside(u, i)
			return !found
		})
		if found {
			sum += w
		}
	}
	return sum / n
}

// beside reports whether a term and the next stand near each other in a sentence.
func (c *check) beside(u *unit, i int) bool {
	for k, id := range u.ids {
		if !c.resembles(i, id) {
			continue
		}
		for m := max(0, k-2); m < min(len(u.ids), k+3); m++ {
			if m != k && c.resembles(i+1, u.ids[m]) {
				return true
			}
		}
	}
	return false
}

// resembles reports whether a word of the quotes bears a term out.
func (c *check) resembles(i int, id int32) bool {
	for _, l := range c.likes[i] {
		if l.id == id {
			return true
		}
	}
	return false
}
