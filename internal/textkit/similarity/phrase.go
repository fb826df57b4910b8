package similarity

// A node is a node of the phrase tree of a language. Its edges are word stems, or letters in
// scripts without spaces.
type node struct {
	next   map[string]*node
	firsts uint64 // a bit for each next stem, see stemBit
	entry  entry  // the phrase that ends here, if known
	ask    entry  // likewise at the start of a question, if asked
	known  bool
	asked  bool
}

// ensure returns the node of a phrase and creates missing nodes.
func (n *node) ensure(stems []string) *node {
	for _, s := range stems {
		if n.next[s] == nil {
			if n.next == nil {
				n.next = map[string]*node{}
			}
			n.next[s] = &node{}
			n.firsts |= 1 << stemBit(s)
		}
		n = n.next[s]
	}
	return n
}

// child returns the node after a stem, or nil. The bits answer most misses without a map lookup.
func (n *node) child(stem string) *node {
	if n.firsts>>stemBit(stem)&1 == 0 {
		return nil
	}
	return n.next[stem]
}

// stemBit returns a number below 64 from the start and length of a stem.
func stemBit(stem string) byte {
	if stem == "" {
		return 0
	}
	return (stem[0] ^ byte(len(stem))<<3) % 64
}
