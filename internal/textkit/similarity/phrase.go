package similarity

// A node is a place in the tree of the phrases of a language, which are found by
// the stems of their words, or by letters in scripts without spaces.
type node struct {
	next   map[string]*node
	firsts uint64 // a bit for each stem that follows, by how it begins
	entry  entry  // of the phrase that ends here, if known
	ask    entry  // likewise, where a question begins, if asked
	known  bool
	asked  bool
}

// at returns the node of a phrase, which is made if there is none.
func (n *node) at(stems []string) *node {
	for _, s := range stems {
		if n.next[s] == nil {
			if n.next == nil {
				n.next = map[string]*node{}
			}
			n.next[s] = &node{}
			n.firsts |= 1 << beginning(s)
		}
		n = n.next[s]
	}
	return n
}

// after returns the node behind a stem, nil if there is none: as mostly, which a glance tells.
func (n *node) after(stem string) *node {
	if n.firsts>>beginning(stem)&1 == 0 {
		return nil
	}
	return n.next[stem]
}

// beginning returns a number below 64 for how a stem begins.
func beginning(stem string) byte {
	if stem == "" {
		return 0
	}
	return (stem[0] ^ byte(len(stem))<<3) % 64
}
