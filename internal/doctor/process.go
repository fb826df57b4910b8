package doctor

import (
	"fmt"

	"ponder/internal/crash"
	"ponder/internal/process"
	"ponder/internal/textkit"
	"ponder/knowledge/document"
)

// crashFindings reports quarantined threads, and other crashes.
func (e *examiner) crashFindings() (found []Finding) {
	quarantined := map[string]bool{}
	for _, r := range e.Crashes().Quarantined() {
		quarantined[string(r.Thread)] = true
		found = append(found, Finding{"crashes", Broken, fmt.Sprintf("%s is quarantined, because it crashed Ponder %d times in a row (%s; trace in %s); to try it again, run `ponder thread release %s`",
			r.Thread, crash.MaxCrashes, r.Reason, e.Near(r.File), r.Thread)})
	}
	for _, r := range e.Crashes().Reports() {
		if !quarantined[string(r.Thread)] {
			found = append(found, Finding{"crashes", Missing, fmt.Sprintf("Ponder crashed at %s (%s; trace in %s); report it, and then delete the trace", r.At.Format("2006-01-02 15:04"), r.Reason, e.Near(r.File))})
		}
	}
	return found
}

func memoryLimitFinding() Finding {
	limit, from := process.MemoryLimit()
	if limit == 0 {
		return Finding{"memory limit", OK, "none"}
	}
	return Finding{"memory limit", OK, fmt.Sprintf("%s, from %s", textkit.Bytes(limit), from)}
}

func pdfFinding() Finding {
	if err := document.PDFInterpreterReason(); err != nil {
		return Finding{"PDF", OK, fmt.Sprintf("read by an interpreter, some %d times slower than machine code, because this process may not have executable memory (%v)", document.InterpretedSlowdown, err)}
	}
	return Finding{"PDF", OK, "read by machine code"}
}
