package document

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sandboxEnv names the restriction under which a child process of these tests reads a PDF, or
// "memory".
const sandboxEnv = "PONDER_TEST_SANDBOX"

func TestMain(m *testing.M) {
	if name := os.Getenv(sandboxEnv); name != "" {
		run := func() error { return runSandboxed(name) }
		if name == "memory" {
			run = measureBombs
		}
		if err := run(); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// sandboxes deny executable memory.
var sandboxes = map[string]func() error{
	"none": func() error { return nil },
	"prctl": func() error {
		return unix.Prctl(unix.PR_SET_MDWE, unix.PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)
	},
	"seccomp": denyWriteExecute,
}

// denyWriteExecute installs the filter of systemd's MemoryDenyWriteExecute: EPERM for memory
// that is writable and executable, and for a change to executable.
func denyWriteExecute() error {
	const number, protection = 0, 16 + 2*8 // offsets in seccomp_data
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	equal := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	and := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: k}
	}
	ret := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	program := []unix.SockFilter{
		load(number),
		equal(unix.SYS_MMAP, 3, 0),
		equal(unix.SYS_MPROTECT, 5, 0),
		equal(unix.SYS_PKEY_MPROTECT, 4, 0),
		ret(unix.SECCOMP_RET_ALLOW),
		load(protection),
		and(unix.PROT_WRITE | unix.PROT_EXEC),
		equal(unix.PROT_WRITE|unix.PROT_EXEC, 3, 4),
		load(protection),
		and(unix.PROT_EXEC),
		equal(unix.PROT_EXEC, 0, 1),
		ret(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)),
		ret(unix.SECCOMP_RET_ALLOW),
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return errno
	}
	return nil
}

// runSandboxed reads a PDF and prints its outline. It prints the reason if the engine is
// interpreted.
func runSandboxed(name string) error {
	if err := sandboxes[name](); err != nil {
		return errors.Join(errors.ErrUnsupported, err)
	}
	if err := PDFInterpreterReason(); err != nil {
		fmt.Println("interpreted:", err)
	}
	began := time.Now()
	c, err := PDF(pdfPages(harbourPages(3)...))
	if err != nil {
		return err
	}
	fmt.Print(formatContent(c))
	fmt.Fprintln(os.Stderr, "the first PDF took", time.Since(began))
	began = time.Now()
	if _, err = PDF(pdfPages(harbourPages(20)...)); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "20 pages took", time.Since(began))
	_, err = readPDF(nestedForms(28, false), time.Second)
	if !errors.Is(err, errSlow) {
		return fmt.Errorf("an endless file: %w", err)
	}
	fmt.Println(err)
	return nil
}

// runChild runs a child process and returns its output.
func runChild(t *testing.T, name string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), sandboxEnv+"="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil && !strings.Contains(string(out), errors.ErrUnsupported.Error()) {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// TestSandbox checks that a process without executable memory reads PDFs with equal results.
func TestSandbox(t *testing.T) {
	for name, want := range map[string][2]string{ // its first and last lines
		"none":    {"T The Harbour", "reading took too long: longer than 1s"},
		"prctl":   {"interpreted: make memory executable: permission denied", "reading took too long: longer than 3s, without executable memory (see `ponder doctor`)"},
		"seccomp": {"interpreted: make memory executable: operation not permitted", "reading took too long: longer than 3s, without executable memory (see `ponder doctor`)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := runChild(t, name)
			if strings.Contains(text, errors.ErrUnsupported.Error()) {
				t.Logf("this kernel has no such restriction: %s", text)
			} else if !strings.HasPrefix(text, want[0]+"\n") || !strings.HasSuffix(text, "\n"+want[1]+"\n") || !strings.Contains(text, "\nH1 Chapter A\nP The harbour of the old town") {
				t.Error(text)
			}
		})
	}
}
