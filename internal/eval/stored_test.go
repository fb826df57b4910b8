package eval

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestStoredReports(t *testing.T) {
	folder := ReportFolder(filepath.Join(t.TempDir(), "ponder.db"))
	if list, err := StoredReports(folder); err != nil || len(list) != 0 {
		t.Errorf("without a folder: %v, %v", list, err)
	}
	at := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	right := 0.5
	for i, name := range []string{"old", "new", "old"} {
		r := StoredReport{Name: name, At: at.Add(time.Duration(i%2) * time.Hour), Report: Report{Questions: i + 1, Variants: []Variant{{Name: "plain", Right: &right}}}}
		if err := StoreReport(folder, r); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"broken.json": "{", "empty.json": "{}", "other.json": `{"name":"x","variants":[{}]}`, "note.txt": "x"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := StoredReports(folder)
	if err != nil || len(list) != 2 || list[0].Name != "new" || list[1].Name != "old" || list[1].Questions != 3 {
		t.Errorf("%+v, %v", list, err)
	}
	if got, err := ReadReport(folder, "new"); err != nil || !reflect.DeepEqual(got, list[0]) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, name := range []string{"", ".", "..", "../evaluations/new", "absent", ".new"} {
		if _, err := ReadReport(folder, name); !errors.Is(err, ErrNoReport) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
