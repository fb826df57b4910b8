package openai

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"sync"
	"syscall"
	"testing"
	"time"

	"ponder/llm"
)

func TestZZLoad(t *testing.T) {
	base := os.Getenv("LOAD")
	if base == "" {
		t.Skip()
	}
	m := New(Config{BaseURL: base, Key: "k"}).Model("sim-fast")
	run := func(n int) (deltas int) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				k := 0
				for _, err := range m.Generate(context.Background(), &llm.Request{Messages: []llm.Message{llm.Say(llm.User, fmt.Sprint("tell me about unicorns ", i))}}) {
					if err != nil {
						t.Error(err)
					}
					k++
				}
				mu.Lock()
				deltas += k
				mu.Unlock()
			})
		}
		wg.Wait()
		return
	}
	run(1000)
	f, _ := os.Create("/tmp/load/cpu.out")
	pprof.StartCPUProfile(f)
	var a, b syscall.Rusage
	syscall.Getrusage(0, &a)
	begin := time.Now()
	d := 0
	for range 5 {
		d += run(1000)
	}
	syscall.Getrusage(0, &b)
	pprof.StopCPUProfile()
	u := time.Duration(b.Utime.Nano() - a.Utime.Nano())
	s := time.Duration(b.Stime.Nano() - a.Stime.Nano())
	t.Logf("5000 streams in %v, %d deltas each: user %v sys %v each", time.Since(begin), d/5000, u/5000, s/5000)
}
