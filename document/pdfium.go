package document

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"sync"
	"time"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Bounds on the PDF engine.
const (
	pdfTime   = 20 * time.Second       // for a file
	pdfPage   = 100 * time.Millisecond // more, for each page that could be read
	pdfMost   = 2 * time.Minute        // for a file of however many pages
	pdfMemory = 256 << 20              // bytes of an engine's own memory, the file included
	pdfAtOnce = 1                      // engines that run beside each other
	pdfLarge  = 64 << 20               // bytes of memory that are given back at once
	pdfLate   = 1000                   // files that are known to take too long
)

// startPDFs starts what engines are made of: PDFium as WebAssembly, which can
// touch neither files nor the network. It costs a second or two on the first PDF
// of all, which the cache folder of the user saves the next process, and nothing
// before.
var startPDFs = sync.OnceValues(func() (*pdfEngines, error) {
	pool, err := startPool()
	return &pdfEngines{pool: pool, slow: map[[sha256.Size]byte]error{}}, err
})

func startPool() (pdfium.Pool, error) {
	config := wazero.NewRuntimeConfig().WithCloseOnContextDone(true).WithMemoryLimitPages(pdfMemory >> 16)
	if dir, err := os.UserCacheDir(); err == nil {
		if cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(dir, "ponder", "wasm")); err == nil {
			if pool, err := newPDFs(config.WithCompilationCache(cache)); err == nil {
				return pool, nil
			}
		}
	}
	return newPDFs(config) // the folder is full, or not ours
}

func newPDFs(config wazero.RuntimeConfig) (pdfium.Pool, error) {
	pool, err := webassembly.Init(webassembly.Config{
		MaxTotal: pdfAtOnce, RuntimeConfig: config, FSConfig: wazero.NewFSConfig(), Stdout: io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		return nil, fmt.Errorf("start the PDF engine: %w", err)
	}
	return pool, nil
}

// A pdfEngine is PDFium with a fresh memory, for one file. It calls the exported
// functions of the module itself: the pool's own cannot be ended once they run,
// and take ten times as long for each letter.
// The first error stays, and what is called after it gives 0.
type pdfEngine struct {
	mod   api.Module
	funcs map[string]api.Function
	err   error
	timer *time.Timer
	began time.Time
	limit time.Duration
}

// extend gives the engine more time, unless it is up.
func (e *pdfEngine) extend(d time.Duration) {
	if e.limit < pdfMost && e.timer.Stop() {
		e.limit += d
		e.timer.Reset(e.limit - time.Since(e.began))
	}
}

// pdfEngines are what PDFs are read with, one at a time.
type pdfEngines struct {
	pool pdfium.Pool

	mu   sync.Mutex
	slow map[[sha256.Size]byte]error // files that took too long, and why they are not read again
}

// late returns why a file is not read: it took too long before.
func (p *pdfEngines) late(sum [sha256.Size]byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slow[sum]
}

// note notes a file that took too long.
func (p *pdfEngines) note(sum [sha256.Size]byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.Is(err, errSlow) && len(p.slow) < pdfLate {
		p.slow[sum] = err
	}
}

var errSlow = errors.New("it takes too long to read")

// with calls f with an engine. When the time is up the engine is ended, whatever
// it is doing, with an error that is errSlow.
func (p *pdfEngines) with(limit time.Duration, f func(*pdfEngine) error) error {
	instance, err := p.pool.GetInstanceWithContext(context.Background())
	if err != nil {
		return fmt.Errorf("start the PDF engine: %w", err)
	}
	mod, err := moduleOf(instance)
	if err != nil {
		_ = instance.Close() // it is thrown away
		return err
	}
	defer end(instance, mod)
	late := make(chan struct{})
	e := &pdfEngine{mod: mod, funcs: map[string]api.Function{}, began: time.Now(), limit: limit}
	e.timer = time.AfterFunc(limit, func() {
		close(late)
		_ = mod.CloseWithExitCode(context.Background(), 1) // what runs in it ends with an error
	})
	err = f(e)
	if !e.timer.Stop() {
		<-late
		return fmt.Errorf("%w: longer than %v", errSlow, e.limit)
	}
	if e.err != nil {
		return fmt.Errorf("the PDF engine broke off: %s", firstLine(e.err.Error()))
	}
	return err
}

// end throws an engine away. One that was large is given back to the system now:
// the next would grow beside it otherwise.
func end(instance pdfium.Pdfium, mod api.Module) {
	large := mod.Memory().Size() > pdfLarge
	_ = instance.Close()
	if large {
		debug.FreeOSMemory()
	}
}

// moduleOf returns the module that an instance runs in, which is a field of what
// it calls its implementation.
func moduleOf(instance pdfium.Pdfium) (api.Module, error) {
	v := reflect.ValueOf(instance.GetImplementation())
	if v.Kind() == reflect.Pointer {
		if f := v.Elem().FieldByName("Module"); f.IsValid() && f.CanInterface() {
			if mod, ok := f.Interface().(api.Module); ok {
				return mod, nil
			}
		}
	}
	return nil, errors.New("start the PDF engine: it has no module")
}

// call calls a function of PDFium.
func (e *pdfEngine) call(name string, args ...uint64) uint64 {
	if e.err != nil {
		return 0
	}
	f := e.funcs[name]
	if f == nil {
		if f = e.mod.ExportedFunction(name); f == nil {
			e.err = fmt.Errorf("there is no %s", name)
			return 0
		}
		e.funcs[name] = f
	}
	var stack [8]uint64
	copy(stack[:], args)
	if err := f.CallWithStack(context.Background(), stack[:]); err != nil {
		e.err = fmt.Errorf("%s: %w", name, err)
		return 0
	}
	return stack[0]
}

// number calls a function that returns an int.
func (e *pdfEngine) number(name string, args ...uint64) int {
	return int(int32(e.call(name, args...)))
}

// float calls a function that returns a double.
func (e *pdfEngine) float(name string, args ...uint64) float64 {
	return math.Float64frombits(e.call(name, args...))
}

// put copies bytes into the memory of the engine, with a zero behind them.
func (e *pdfEngine) put(b []byte) uint64 {
	at := e.alloc(len(b) + 1)
	if e.err == nil && !(e.mod.Memory().Write(uint32(at), b) && e.mod.Memory().WriteByte(uint32(at)+uint32(len(b)), 0)) {
		e.err = errors.New("its memory is too small")
	}
	return at
}

func (e *pdfEngine) alloc(n int) uint64 {
	at := e.call("malloc", uint64(n))
	if at == 0 && e.err == nil {
		e.err = errors.New("its memory is full")
	}
	return at
}

func (e *pdfEngine) free(at uint64) { e.call("free", at) }

// bytes returns a copy of the memory of the engine.
func (e *pdfEngine) bytes(at uint64, n int) []byte {
	if e.err != nil {
		return nil
	}
	b, ok := e.mod.Memory().Read(uint32(at), uint32(n))
	if !ok {
		e.err = errors.New("it answered with what is not in its memory")
		return nil
	}
	return append([]byte(nil), b...)
}
