package document

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed" // for PDFium
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/emscripten"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// Bounds on the PDF engine.
const (
	pdfTime   = 20 * time.Second       // for a file
	pdfPage   = 100 * time.Millisecond // more, for each page that could be read
	pdfMost   = 2 * time.Minute        // for a file of however many pages
	pdfMemory = 256 << 20              // bytes of an engine's own memory, the file included
	pdfLarge  = 64 << 20               // bytes of memory that are given back at once
	pdfLate   = 1000                   // files that are known to take too long
)

// pdfium is PDFium as WebAssembly, compressed by gzip. The module go-pdfium compiled it.
// pdfium_test.go names the version and writes the file, without the functions that this
// package never calls: wazero then compiles it in half the time.
//
//go:embed pdfium.wasm.gz
var pdfium []byte

// unpackPDFium returns PDFium as WebAssembly.
func unpackPDFium() ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(pdfium))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// startPDFs starts what engines are made of: PDFium as WebAssembly, which can
// touch neither files nor the network. It costs a second or two on the first PDF
// of all, which the cache folder of the user saves the next process, and nothing
// before.
var startPDFs = sync.OnceValues(func() (*pdfEngines, error) {
	wasm, err := unpackPDFium()
	if err != nil {
		return nil, fmt.Errorf("unpack the PDF engine: %w", err)
	}
	config := wazero.NewRuntimeConfig().WithCloseOnContextDone(true).WithMemoryLimitPages(pdfMemory >> 16)
	if dir, err := os.UserCacheDir(); err == nil {
		if cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(dir, "ponder", "wasm")); err == nil {
			if engines, err := newPDFs(config.WithCompilationCache(cache), wasm); err == nil {
				return engines, nil
			}
		}
	}
	return newPDFs(config, wasm) // the folder is full, or not ours
})

// newPDFs compiles PDFium, and gives it what it asks of its surroundings.
func newPDFs(config wazero.RuntimeConfig, wasm []byte) (_ *pdfEngines, err error) {
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, config)
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start the PDF engine: %w", err), runtime.Close(ctx))
		}
	}()
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
		return nil, err
	}
	compiled, err := runtime.CompileModule(ctx, wasm)
	if err != nil {
		return nil, err
	}
	if err := surround(ctx, runtime, compiled); err != nil {
		return nil, err
	}
	return &pdfEngines{runtime: runtime, compiled: compiled, slow: map[[sha256.Size]byte]error{}}, nil
}

// surround gives PDFium what it was compiled to find: long jumps, and functions that a
// program may set so as to be called back, which we never do.
func surround(ctx context.Context, runtime wazero.Runtime, compiled wazero.CompiledModule) error {
	const module = "env"
	env := runtime.NewHostModuleBuilder(module)
	for _, f := range compiled.ImportedFunctions() {
		if from, name, _ := f.Import(); from == module {
			never := api.GoFunc(func(context.Context, []uint64) { panic(name + " was called back") })
			env.NewFunctionBuilder().WithGoFunction(never, f.ParamTypes(), f.ResultTypes()).Export(name)
		}
	}
	jumps, err := emscripten.NewFunctionExporterForModule(compiled)
	if err != nil {
		return err
	}
	jumps.ExportFunctions(env) // in place of some of those
	_, err = env.Instantiate(ctx)
	return err
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
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	turn     sync.Mutex // of the engine that runs

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

// fresh returns PDFium with a memory of its own.
func (p *pdfEngines) fresh(ctx context.Context) (api.Module, error) {
	mod, err := p.runtime.InstantiateModule(ctx, p.compiled, wazero.NewModuleConfig().
		WithName("").WithStartFunctions("_initialize").WithRandSource(rand.Reader))
	if err != nil {
		return nil, err
	}
	start := mod.ExportedFunction("FPDF_InitLibrary")
	if start == nil {
		return nil, errors.Join(errors.New("there is no FPDF_InitLibrary"), mod.Close(ctx))
	}
	if _, err := start.Call(ctx); err != nil {
		return nil, errors.Join(err, mod.Close(ctx))
	}
	return mod, nil
}

// with calls f with an engine. When the time is up the engine is ended, whatever
// it is doing, with an error that is errSlow.
func (p *pdfEngines) with(limit time.Duration, f func(*pdfEngine) error) error {
	p.turn.Lock()
	defer p.turn.Unlock()
	mod, err := p.fresh(context.Background())
	if err != nil {
		return fmt.Errorf("start the PDF engine: %w", err)
	}
	defer end(mod)
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
func end(mod api.Module) {
	large := mod.Memory().Size() > pdfLarge
	_ = mod.Close(context.Background())
	if large {
		debug.FreeOSMemory()
	}
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
