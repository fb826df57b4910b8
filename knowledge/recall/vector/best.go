package vector

// A candidate is a row of a block, and about how near it is.
type candidate struct {
	score      float32
	block, row int
}

// worse orders candidates, no two of which are equal.
func (c candidate) worse(than candidate) bool {
	switch {
	case c.score != than.score:
		return c.score < than.score
	case c.block != than.block:
		return c.block > than.block
	}
	return c.row > than.row
}

// Best keeps as many of the best candidates as it has room for: a heap with the
// worst on top.
type best struct {
	room int
	heap []candidate
}

// wants reports whether add would keep a candidate.
func (b *best) wants(c candidate) bool { return len(b.heap) < b.room || b.heap[0].worse(c) }

// add adds a candidate if it is good enough.
func (b *best) add(c candidate) {
	if len(b.heap) < b.room {
		b.heap = append(b.heap, c)
		b.up(len(b.heap) - 1)
		return
	}
	if b.heap[0].worse(c) {
		b.heap[0] = c
		b.down()
	}
}

func (b *best) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !b.heap[i].worse(b.heap[parent]) {
			return
		}
		b.heap[i], b.heap[parent] = b.heap[parent], b.heap[i]
		i = parent
	}
}

func (b *best) down() {
	for i := 0; ; {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(b.heap); child++ {
			if b.heap[child].worse(b.heap[worst]) {
				worst = child
			}
		}
		if worst == i {
			return
		}
		b.heap[i], b.heap[worst] = b.heap[worst], b.heap[i]
		i = worst
	}
}
