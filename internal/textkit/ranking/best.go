package ranking

// A Best keeps the n best of the items that are added: a heap with the worst first.
type Best[T any] struct {
	n      int
	better func(a, b *T) bool
	items  []T
	next   T // the item that is compared; a field, so that it stays off the heap
}

// NewBest returns an empty Best of n items at most. better is a strict order.
func NewBest[T any](n int, better func(a, b *T) bool) *Best[T] {
	return &Best[T]{n: n, better: better, items: make([]T, 0, min(n, 1024))}
}

// Items returns what is kept, the worst first and the others in no order.
func (b *Best[T]) Items() []T { return b.items }

// Full reports whether a further item must be better than the worst to be kept.
func (b *Best[T]) Full() bool { return len(b.items) == b.n }

// Add keeps an item if it is among the best.
func (b *Best[T]) Add(item T) {
	if !b.Full() {
		b.items = append(b.items, item)
		b.up()
		return
	}
	if b.next = item; b.n > 0 && b.better(&b.next, &b.items[0]) {
		b.items[0] = item
		b.down()
	}
}

func (b *Best[T]) up() {
	for i := len(b.items) - 1; i > 0; {
		parent := (i - 1) / 2
		if !b.better(&b.items[parent], &b.items[i]) {
			return
		}
		b.items[i], b.items[parent] = b.items[parent], b.items[i]
		i = parent
	}
}

func (b *Best[T]) down() {
	for i := 0; ; {
		worst := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(b.items); c++ {
			if b.better(&b.items[worst], &b.items[c]) {
				worst = c
			}
		}
		if worst == i {
			return
		}
		b.items[i], b.items[worst] = b.items[worst], b.items[i]
		i = worst
	}
}
