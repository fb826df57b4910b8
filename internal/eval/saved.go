package eval

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ponder/internal/config"
	"ponder/internal/fileio"
	"ponder/internal/textkit"
)

// A SavedReport is the newest report about a file of questions. It is stored as NAME.json in the folder
// evaluations of the state directory.
type SavedReport struct {
	Name   string    `json:"name"` // of the file, without its extension
	At     time.Time `json:"at"`
	Judge  string    `json:"judge,omitempty"`
	Report Report    `json:"report"`
}

const maxReport = 64 << 20

func savedFolder(cfg *config.Config) (string, error) {
	dir, err := cfg.StateDir()
	return filepath.Join(dir, "evaluations"), err
}

// Save stores the report of a plan for the server. It replaces an earlier one about a file of the same name.
func (p *Plan) Save(cfg *config.Config, r Report) error {
	dir, err := savedFolder(cfg)
	if err == nil {
		err = fileio.MakeStateDir(dir)
	}
	if err != nil {
		return fmt.Errorf("save the report: %w", err)
	}
	base := filepath.Base(p.File)
	name := textkit.TruncateBytes(strings.TrimLeft(textkit.OneLine(strings.TrimSuffix(base, filepath.Ext(base))), "."), 100)
	js, err := json.Marshal(SavedReport{name, time.Now().UTC(), p.Judge, r})
	if err == nil {
		err = fileio.WriteState(filepath.Join(dir, name+".json"), append(js, '\n'))
	}
	if err != nil {
		return fmt.Errorf("save the report: %w", err)
	}
	return nil
}

// SavedReports returns the stored reports, newest first. It leaves out unreadable files.
func SavedReports(cfg *config.Config) (list []SavedReport, err error) {
	dir, err := savedFolder(cfg)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the reports: %w", err)
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		var s SavedReport
		text, err := fileio.ReadFile(filepath.Join(dir, e.Name()), maxReport)
		if err == nil {
			err = json.Unmarshal(text, &s)
		}
		if err == nil && s.Name != "" {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b SavedReport) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Name, b.Name)) })
	return list, nil
}
