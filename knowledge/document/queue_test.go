package document

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestByteQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &byteQueue{limit: 10}
		used, most := int64(0), int64(0)
		began := time.Now()
		for _, n := range []int64{4, 4, 4, 25, 2} {
			go func() {
				release, err := q.acquire(t.Context(), n)
				if err != nil {
					t.Error(err)
					return
				}
				used += n
				if most = max(most, used); used > 10 && used != 25 {
					t.Errorf("%d bytes are in use", used)
				}
				time.Sleep(time.Second)
				used -= n
				release()
				release()
			}()
			synctest.Wait()
		}
		time.Sleep(10 * time.Second)
		if q.used != 0 || used != 0 || most != 25 || time.Since(began) != 10*time.Second {
			t.Errorf("%d and %d bytes are in use, at most %d", q.used, used, most)
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
