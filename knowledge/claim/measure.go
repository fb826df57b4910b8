package claim

import "math"

// findFigure returns the figure around a window that bears f out best.
func (v *view) findFigure(f figure, w *window, far int) (best figure, ok fit) {
	own := &v.units[w.unit]
	v.around(w, far, func(u *unit) bool {
		for _, g := range u.figures {
			if k := f.fits(g); k > ok && (u == own && !w.second || f.alike(g)) {
				best, ok = g, k
			}
		}
		if f.unit == "" && ok < equal {
			for _, d := range u.days {
				if float64(d.year) == f.value {
					best, ok = figure{span: d.span, value: f.value}, equal
				}
			}
		}
		return ok < equal
	})
	return best, ok
}

// telling is the count from which on two that are equal are so by no accident.
const telling = 100

// alike reports whether two figures that are equal may be of the same thing: they have a
// unit, are large, or count the same.
func (f figure) alike(g figure) bool {
	return f.unit != "" || f.value >= telling || f.noun == "" || f.noun == g.noun
}

// findDay returns the date around a window that bears d out.
func (v *view) findDay(d day, w *window, far int) (best day, ok bool) {
	v.around(w, far, func(u *unit) bool {
		for _, e := range u.days {
			if d.borne(e) {
				best, ok = e, true
				return false
			}
		}
		if d.said() == 1 && d.year > 0 {
			for _, f := range u.figures {
				if f.unit == "" && f.value == float64(d.year) {
					best, ok = day{span: f.span, year: d.year}, true
					return false
				}
			}
		}
		return true
	})
	return best, ok
}

// pieced reports whether a date is borne out in parts: its day and month around the
// window, and its year there, in the context, or by when the source was published.
func (v *view) pieced(d day, w *window, far int) bool {
	if d.decade {
		return false
	}
	year, rest := d.year == 0, d.month == 0 && d.day == 0
	s := &v.quotes[v.units[w.unit].quote]
	look := func(e day) {
		year = year || e.year == d.year
		rest = rest || (d.month == 0 || e.month == d.month) && (d.day == 0 || e.day == d.day) && (e.year == 0 || d.year == 0 || e.year == d.year)
	}
	v.around(w, far, func(u *unit) bool {
		for _, e := range u.days {
			if e.month == 0 || e.month == d.month { // not the year of another day
				look(e)
			}
		}
		return !year || !rest
	})
	for _, e := range s.context.days {
		look(e)
	}
	return rest && (year || !s.Published.IsZero() && s.Published.Year() == d.year)
}

// rivalFigure returns a figure of the sentence of a window that stands where f should:
// of the same unit and thing, and of no other figure of the claim.
func (v *view) rivalFigure(f figure, w *window) (figure, bool) {
	var found []figure
	for _, g := range v.units[w.unit].figures {
		if g.unit != f.unit || v.claimed(g) {
			continue
		}
		if f.unit != "" && f.unit != "place" || f.noun != "" && f.noun == g.noun {
			found = append(found, g)
		}
	}
	if len(found) != 1 {
		return figure{}, false
	}
	return found[0], true
}

// claimed reports whether a figure of a source bears out one of the claim.
func (v *view) claimed(g figure) bool {
	for _, f := range v.figures {
		if f.fits(g) >= roughly {
			return true
		}
	}
	return false
}

// rivalDay returns the date of the sentence of a window that says another time than d.
func (v *view) rivalDay(d day, w *window) (day, bool) {
	var found []day
	for _, e := range v.units[w.unit].days {
		taken := false
		for _, o := range v.days {
			taken = taken || o.borne(e) || o.span != d.span && !o.against(e)
		}
		if !taken && d.against(e) && (d.month > 0) == (e.month > 0) && (d.month > 0 || (d.year > 0) == (e.year > 0)) {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		return day{}, false
	}
	return found[0], true
}

// near reports whether a rival is so near that it may be a rounded value.
func near(a, b figure) bool {
	return math.Abs(a.value-b.value) <= 0.1*max(math.Abs(a.value), math.Abs(b.value)) && (a.step > 1 || b.step > 1 || a.loose != exactly || b.loose != exactly)
}
