package subconscious

import (
	"strings"
	"time"
)

// Due reports whether a tick would have something to do, and why or why not in words. It
// would if a role would look, because there is something new to it, another role gave it
// a hint or its time has come; or if something was gathered that may be escalated now.
// Where nothing happens, there comes a time after which nothing is due, for ever but for
// roles with a pace of their own.
func (v View) Due(o Options, now time.Time) (due bool, why string) {
	var list []string
	for _, s := range plan(o, v.knows, now, TickInput{Upto: all}) {
		if s.skip == "" {
			list = append(list, s.role.Name+": "+s.why)
		}
	}
	if gathered(o, v.knows, now) {
		list = append(list, count(len(v.Aside.Pending), "finding")+" waited to be escalated")
	}
	if n := len(v.knows.nearing(now)); n > 0 {
		list = append(list, count(n, "date or promise")+" is to come up again")
	}
	if len(list) == 0 {
		return false, "nothing is new"
	}
	return true, strings.Join(list, "; ")
}
