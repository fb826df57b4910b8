package same

// A node is a place in the tree of the phrases of a language, which are found by
// the stems of their words, or by letters in scripts without spaces.
type node struct {
	next  map[string]*node
	entry entry // of the phrase that ends here, if known
	ask   entry // likewise, where a question begins, if asked
	known bool
	asked bool
}

// at returns the node of a phrase, which is made if there is none.
func (n *node) at(stems []string) *node {
	for _, s := range stems {
		if n.next[s] == nil {
			if n.next == nil {
				n.next = map[string]*node{}
			}
			n.next[s] = &node{}
		}
		n = n.next[s]
	}
	return n
}
