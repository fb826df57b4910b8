package index

import "testing"

func TestCacheForgetsWhatIsNotAskedFor(t *testing.T) {
	var c cache
	row := make([]byte, 1<<10)
	const rooms = maxCached / (1 << 10)
	key := func(i int) chunkKey { return chunkKey{id: int64(i)} }
	for i := range 3 * rooms {
		c.put(key(i), row)
		if c.get(key(0)) == nil {
			t.Fatalf("after %d rows the one that is asked for all the time is gone", i+1)
		}
		if n := len(c.young) + len(c.old); n > rooms {
			t.Fatalf("%d rows are kept, which is more than %d", n, rooms)
		}
	}
	if c.get(key(rooms/2)) != nil {
		t.Error("a row that nobody asked for is still there")
	}
}

func TestCacheForgetsWhatWasErased(t *testing.T) {
	var c cache
	row := func(segment, purged int64) chunkKey { return chunkKey{blobID(segment, postingKind, 3), purged} }
	for _, k := range []chunkKey{row(1, 0), row(2, 7), row(2, 9), row(4, 0)} {
		c.put(k, []byte("words"))
	}
	c.dropStale(&view{segments: []*segment{{segmentRow: segmentRow{id: 1}}, {segmentRow: segmentRow{id: 2, purged: 9}}}})
	for k, want := range map[chunkKey]bool{row(1, 0): true, row(2, 7): false, row(2, 9): true, row(4, 0): false} {
		if got := c.get(k) != nil; got != want {
			t.Errorf("%+v is kept: %t, want %t", k, got, want)
		}
	}
	if c.size != 2*len("words") {
		t.Errorf("it says that it has %d bytes", c.size)
	}
}
