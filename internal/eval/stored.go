package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ponder/internal/fileio"
)

// A StoredReport is the newest report about a file of questions.
type StoredReport struct {
	Name  string    `json:"name" doc:"name of the file of questions"`
	At    time.Time `json:"at"`
	Judge string    `json:"judge,omitempty" doc:"model that compared the answers"`
	Report
}

// ErrNoReport is the cause for a name without a stored report.
var ErrNoReport = errors.New("no such evaluation")

// maxReport bounds a stored report, in bytes.
const maxReport = 16 << 20

// ReportFolder returns the folder of stored reports, beside a database.
func ReportFolder(db string) string { return filepath.Join(filepath.Dir(db), "evaluations") }

// Stored returns a report about the plan's questions, to store.
func (p *Plan) Stored(r Report, now time.Time) StoredReport {
	name := filepath.Base(p.File)
	return StoredReport{Name: strings.TrimLeft(strings.TrimSuffix(name, filepath.Ext(name)), "."), At: now.UTC(), Judge: p.Judge, Report: r}
}

// StoreReport replaces the stored report of the same name.
func StoreReport(folder string, r StoredReport) error {
	js, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	if err := fileio.MakeStateDir(folder); err != nil {
		return err
	}
	return fileio.WritePrivate(filepath.Join(folder, r.Name+".json"), js)
}

// StoredReports returns all stored reports, newest first. It skips files that are no reports.
func StoredReports(folder string) ([]StoredReport, error) {
	files, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list evaluations: %w", err)
	}
	list := []StoredReport{}
	for _, file := range files {
		if name, is := strings.CutSuffix(file.Name(), ".json"); is {
			if r, err := ReadReport(folder, name); err == nil {
				list = append(list, r)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b StoredReport) int { return b.At.Compare(a.At) })
	return list, nil
}

// ReadReport returns a stored report, or an error with ErrNoReport.
func ReadReport(folder, name string) (r StoredReport, err error) {
	if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return r, ErrNoReport
	}
	js, err := fileio.ReadFile(filepath.Join(folder, name+".json"), maxReport)
	if errors.Is(err, fs.ErrNotExist) {
		return r, ErrNoReport
	}
	if err == nil {
		err = json.Unmarshal(js, &r)
	}
	if err == nil && (r.Name != name || len(r.Variants) == 0) {
		err = ErrNoReport
	}
	if err != nil {
		return r, fmt.Errorf("read evaluation: %w", err)
	}
	return r, nil
}
