package document

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestByteQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &byteQueue{limit: func() int64 { return 10 }}
		var mu sync.Mutex
		used, most := int64(0), int64(0)
		began := time.Now()
		for _, n := range []int64{4, 4, 4, 25, 2} {
			go func() {
				release, err := q.acquire(t.Context(), n)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				used += n
				if most = max(most, used); used > 10 && used != 25 {
					t.Errorf("%d bytes are in use", used)
				}
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				used -= n
				mu.Unlock()
				release()
				release()
			}()
			synctest.Wait()
		}
		time.Sleep(10 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		q.mu.Lock()
		left := q.used
		q.mu.Unlock()
		if left != 0 || used != 0 || most != 25 || time.Since(began) != 10*time.Second {
			t.Errorf("%d and %d bytes are in use, at most %d", left, used, most)
		}
		release, err := q.acquire(t.Context(), 9)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := q.acquire(ctx, 2); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("acquired without space: %v", err)
		}
	})
}

// TestMemoryLimit checks that a text which exceeds the memory limit is refused with its need,
// in any format.
func TestMemoryLimit(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(200 << 20))
	big := strings.Repeat("The harbour of the old town was rebuilt. ", 20<<20/41)
	for name, text := range map[string]string{
		"a.txt": big, "a.md": big, "a.html": "<p>" + big, "a.csv": "a,b\n" + strings.Repeat("one word,two more words\n", 20<<20/23),
		"a.json": `["` + big + `"]`, "a.eml": "From: a@b.c\nSubject: s\n\n" + big,
	} {
		for _, err := range Read("/"+name, []byte(text), nil, true) {
			if err == nil || !strings.HasPrefix(err.Error(), "it needs about ") || !strings.Contains(err.Error(), " MiB of memory, and the limit is 200 MiB") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, err := range Read("/a.txt", []byte(big[:8<<20]), nil, true) {
		if err != nil {
			t.Error(err)
		}
	}
}
