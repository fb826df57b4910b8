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
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/emscripten"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"ponder/internal/guard"
)

const (
	pdfTime      = 20 * time.Second       // per file
	pdfPage      = 100 * time.Millisecond // more per readable page
	pdfMaxTime   = 2 * time.Minute        // maximum per file
	maxPDFMemory = 256 << 20              // bytes of engine memory, file included
	minPDFMemory = 32 << 20               // bytes of engine memory under any limit
	maxSlowFiles = 1000                   // remembered slow files
)

// InterpretedSlowdown is the time that an interpreted engine takes, relative to machine code.
const InterpretedSlowdown = 13

// Limits of an interpreted engine.
const (
	interpretedTime    = 3 // times the limits of machine code
	interpretedMaxTime = 5 * time.Minute
)

// pdfium is PDFium as gzipped WebAssembly, compiled by the go-pdfium module.
// pdfium_test.go pins the version and strips uncalled functions, which halves wazero's
// compile time.
//
//go:embed pdfium.wasm.gz
var pdfium []byte

func unpackPDFium() ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(pdfium))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// startPDFRunner compiles PDFium as WebAssembly without access to files or network. The
// first call takes a second or two; the user's cache folder saves later processes that
// time. Without executable memory, or if the compiler fails, it returns an interpreter.
var startPDFRunner = sync.OnceValues(func() (*pdfRunner, error) {
	wasm, err := unpackPDFium()
	if err != nil {
		return nil, fmt.Errorf("unpack the PDF engine: %w", err)
	}
	defer debug.FreeOSMemory() // compiling takes more memory than reading
	denied := checkExecutable()
	if denied == nil {
		var engines *pdfRunner
		if engines, denied = startCompiled(wasm); denied == nil {
			return engines, nil
		}
	}
	return startInterpreted(wasm, denied)
})

func startCompiled(wasm []byte) (*pdfRunner, error) {
	config := wazero.NewRuntimeConfig()
	if dir, err := os.UserCacheDir(); err == nil {
		if cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(dir, "ponder", "wasm")); err == nil {
			if engines, err := newPDFRunner(config.WithCompilationCache(cache), wasm); err == nil {
				return engines, nil
			}
		}
	}
	return newPDFRunner(config, wasm) // the folder is full or not writable
}

func startInterpreted(wasm []byte, denied error) (*pdfRunner, error) {
	engines, err := newPDFRunner(wazero.NewRuntimeConfigInterpreter(), wasm)
	if err != nil {
		return nil, err
	}
	engines.denied = denied
	return engines, nil
}

// PDFInterpreterReason returns the reason why this process interprets the PDF engine, which then
// takes [InterpretedSlowdown] times as long, or nil if it runs machine code.
func PDFInterpreterReason() error { return checkExecutable() }

// newPDFRunner returns a runner. A panic of the compiler is an error.
func newPDFRunner(config wazero.RuntimeConfig, wasm []byte) (*pdfRunner, error) {
	p, err := guard.Call(func() (*pdfRunner, error) {
		return compilePDFium(config.WithCoreFeatures(api.CoreFeaturesV2|experimental.CoreFeaturesExceptionHandling).
			WithCloseOnContextDone(true).WithMemoryLimitPages(uint32(pdfMemoryLimit()>>16)), wasm)
	})
	if err != nil {
		return nil, fmt.Errorf("start the PDF engine: %w", err)
	}
	return p, nil
}

// pdfMemoryLimit returns the memory of an engine: at most half of the memory limit of the
// process.
func pdfMemoryLimit() int64 {
	return max(min(maxPDFMemory, debug.SetMemoryLimit(-1)/2), minPDFMemory)
}

func compilePDFium(config wazero.RuntimeConfig, wasm []byte) (_ *pdfRunner, err error) {
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, config)
	defer func() {
		if err != nil {
			err = errors.Join(err, runtime.Close(ctx))
		}
	}()
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
		return nil, err
	}
	compiled, err := runtime.CompileModule(ctx, wasm)
	if err != nil {
		return nil, err
	}
	if err := provideImports(ctx, runtime, compiled); err != nil {
		return nil, err
	}
	return &pdfRunner{runtime: runtime, compiled: compiled, slow: map[[sha256.Size]byte]error{}}, nil
}

// provideImports provides PDFium's imports: long jumps, and callbacks, which must never run.
func provideImports(ctx context.Context, runtime wazero.Runtime, compiled wazero.CompiledModule) error {
	const module = "env"
	env := runtime.NewHostModuleBuilder(module)
	for _, f := range compiled.ImportedFunctions() {
		if from, name, _ := f.Import(); from == module {
			never := api.GoFunc(func(context.Context, []uint64) { panic(name + " was called unexpectedly") })
			env.NewFunctionBuilder().WithGoFunction(never, f.ParamTypes(), f.ResultTypes()).Export(name)
		}
	}
	jumps, err := emscripten.NewFunctionExporterForModule(compiled)
	if err != nil {
		return err
	}
	jumps.ExportFunctions(env) // replace some of those
	_, err = env.Instantiate(ctx)
	return err
}

// A pdfEngine is PDFium with fresh memory for one file. It calls the module's exports
// directly: go-pdfium's pool cannot be interrupted and takes ten times as long per
// letter. The first error persists, and later calls return 0.
type pdfEngine struct {
	ctx   context.Context // done at the time limit
	mod   api.Module
	funcs map[string]api.Function
	err   error
	timer *time.Timer
	began time.Time

	limit, page, maxLimit time.Duration // until now; more per page; at most
}

// extendLimit adds the time of a page.
func (e *pdfEngine) extendLimit() {
	if e.limit < e.maxLimit && e.timer.Stop() {
		e.limit += e.page
		e.timer.Reset(e.limit - time.Since(e.began))
	}
}

// A pdfRunner runs PDF engines, one at a time.
type pdfRunner struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	denied   error      // why the engine is interpreted; nil if it is machine code
	runMu    sync.Mutex // held by the running engine

	mu   sync.Mutex
	slow map[[sha256.Size]byte]error // errors of files that exceeded the time
}

func (p *pdfRunner) slowError(sum [sha256.Size]byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slow[sum]
}

func (p *pdfRunner) recordSlow(sum [sha256.Size]byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.Is(err, errSlow) && len(p.slow) < maxSlowFiles {
		p.slow[sum] = err
	}
}

var errSlow = errors.New("reading took too long")

func (p *pdfRunner) instantiateModule(memory *pdfMemory) (api.Module, error) {
	ctx := context.Background()
	mod, err := p.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, memory), p.compiled, wazero.NewModuleConfig().
		WithName("").WithStartFunctions("_initialize").WithRandSource(rand.Reader))
	if err != nil {
		return nil, err
	}
	start := mod.ExportedFunction("FPDF_InitLibrary")
	if start == nil {
		return nil, errors.Join(errors.New("FPDF_InitLibrary is missing"), mod.Close(ctx))
	}
	if _, err := start.Call(ctx); err != nil {
		return nil, errors.Join(err, mod.Close(ctx))
	}
	return mod, nil
}

// runEngine calls f with an engine, after the engines of other files. At the time limit it
// ends the engine at any point and returns errSlow.
func (p *pdfRunner) runEngine(limit time.Duration, f func(*pdfEngine) error) error {
	p.runMu.Lock()
	defer p.runMu.Unlock()
	memory := &pdfMemory{}
	defer memory.release()
	mod, err := guard.Call(func() (api.Module, error) { return p.instantiateModule(memory) })
	if err != nil {
		return fmt.Errorf("start the PDF engine: %w", err)
	}
	defer mod.Close(context.Background())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	late := make(chan struct{})
	e := &pdfEngine{ctx: ctx, mod: mod, funcs: map[string]api.Function{}, began: time.Now(), limit: limit, page: pdfPage, maxLimit: pdfMaxTime}
	if p.denied != nil {
		e.limit, e.page, e.maxLimit = interpretedTime*limit, interpretedTime*pdfPage, interpretedMaxTime
	}
	e.timer = time.AfterFunc(e.limit, func() {
		close(late)
		cancel() // running calls return an error; a close of the module would race with them
	})
	_, err = guard.Call(func() (struct{}, error) { return struct{}{}, f(e) })
	if !e.timer.Stop() {
		<-late
		return p.slowFailure(e.limit)
	}
	if e.err != nil {
		return fmt.Errorf("the PDF engine failed: %s", firstLine(e.err.Error()))
	}
	return err
}

func (p *pdfRunner) slowFailure(limit time.Duration) error {
	if p.denied != nil {
		return fmt.Errorf("%w: longer than %v, without executable memory (see `ponder doctor`)", errSlow, limit)
	}
	return fmt.Errorf("%w: longer than %v", errSlow, limit)
}

func (e *pdfEngine) call(name string, args ...uint64) uint64 {
	if e.err != nil {
		return 0
	}
	f := e.funcs[name]
	if f == nil {
		if f = e.mod.ExportedFunction(name); f == nil {
			e.err = fmt.Errorf("function %s is missing", name)
			return 0
		}
		e.funcs[name] = f
	}
	var stack [8]uint64
	copy(stack[:], args)
	if err := f.CallWithStack(e.ctx, stack[:]); err != nil {
		e.err = fmt.Errorf("call %s: %w", name, err)
		return 0
	}
	return stack[0]
}

func (e *pdfEngine) callInt(name string, args ...uint64) int {
	return int(int32(e.call(name, args...)))
}

func (e *pdfEngine) callFloat(name string, args ...uint64) float64 {
	return math.Float64frombits(e.call(name, args...))
}

func (e *pdfEngine) writeBytes(b []byte) uint64 {
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

func (e *pdfEngine) readBytes(at uint64, n int) []byte {
	if e.err != nil {
		return nil
	}
	b, ok := e.mod.Memory().Read(uint32(at), uint32(n))
	if !ok {
		e.err = errors.New("it returned an address outside its memory")
		return nil
	}
	return append([]byte(nil), b...)
}
