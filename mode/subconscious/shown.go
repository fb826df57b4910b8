package subconscious

import "maps"

// Shown returns a state in which each of these roles is, those too that have not run.
func (s State) Shown(roles ...Role) State {
	all := maps.Clone(s.ThreadState)
	if all == nil {
		all = make(map[string]RoleState)
	}
	for _, r := range roles {
		if _, ok := all[r.Name]; !ok {
			all[r.Name] = RoleState{LastFindings: []string{}}
		}
	}
	s.ThreadState = all
	return s
}
