package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/report"
	"ponder/knowledge/archive"
	"ponder/knowledge/document"
	"ponder/knowledge/recall"
	"ponder/store/sqlite"
)

func TestQuoteStatusWords(t *testing.T) {
	for _, s := range []app.QuoteStatus{app.QuoteExact, app.QuoteFound, app.QuoteReordered, app.QuoteChanged, app.SourceGone, app.SourceNotKept, app.QuoteInSearch, app.QuoteOnlyInSearch, app.QuoteOfThread, app.QuoteOfUser} {
		v := app.Verification{Quotes: []app.QuoteCheck{{State: s}}}
		if text := v.Text(); !strings.Contains(text, "1 quote: 1 ") || s.Describe() == "" {
			t.Errorf("%s: %s", s, text)
		}
	}
}

// An odd name is printed in a form that the user can type.
func TestOddNames(t *testing.T) {
	for _, name := range []string{"a b.txt", "a\nb.txt", `a\nb.txt`, "\xff\xfe.txt"} {
		path := filepath.Join(t.TempDir(), name)
		place := document.QuotePath(path)
		if got := app.Where(recall.Item{Path: path, Part: "7"}); got != place+"#7" {
			t.Errorf("memory of %q is shown as %s", path, got)
		}
		if got := nearPath(path); got != place {
			t.Errorf("%q is shown as %s, want %s", path, got, place)
		}
	}
}

// The report does not call an unchanged quote true.
func TestVerdict(t *testing.T) {
	quote := report.Evidence{ID: "e1", Quote: "The ozone layer will recover by 2040.", Source: "user", Cited: true}
	claim := func(text, status string, cites ...string) report.Claim {
		return report.Claim{Text: text, Status: status, Cites: cites}
	}
	for _, tt := range []struct {
		name   string
		quotes []report.Evidence
		claims []report.Claim
		borne  int
		want   string
	}{
		{"borne out", []report.Evidence{quote}, []report.Claim{claim("The ozone layer will recover by 2040.", "supported", "e1"), claim("It costs 12 euros.", "unverified")}, 1, "1 quote: 1 of the user\n2 claims: 2 unchanged\nVerified.\n"},
		{"not borne out", nil, []report.Claim{claim("The ozone layer will recover by 2040.", "unverified")}, 0, "0 quotes\n1 claim: 1 unchanged\nThe report is unchanged, but no quote supports a claim.\n"},
		{"contradicted", []report.Evidence{quote}, []report.Claim{claim("The ozone layer will recover by 2050.", "contradicted", "e1")}, 0, "1 quote: 1 of the user\n1 claim: 1 unchanged\nThe report is unchanged, but no quote supports a claim.\n"},
		{"no claim", nil, nil, 0, "0 quotes\n0 claims\nThe report is unchanged and has no claims.\n"},
		{"borne out once", nil, []report.Claim{claim("The ozone layer will recover by 2040.", "supported", "e1")}, 0, "0 quotes\n1 claim: 0 unchanged\n  ✗ The ozone layer will recover by 2040.: was supported, is now unverified: no quote says anything of it\nNot verified.\n"},
	} {
		f := &report.ReportFile{Form: "thread", Research: report.Research{Question: "When?", Status: ponder.Completed, Answer: "It says so.", Evidence: tt.quotes, Claims: tt.claims}}
		v := new(app.App).VerifyReport(t.Context(), nil, f)
		if got := strings.TrimPrefix(v.Text(), "When?\n"); got != tt.want || v.Borne != tt.borne {
			t.Errorf("%s: %d supported:\n%swant:\n%s", tt.name, v.Borne, got, tt.want)
		}
	}
}

// TestVerified checks the words for quotes that no longer match.
func TestVerified(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "p.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	kept, err := archive.Open(t.Context(), store.SQL())
	if err != nil {
		t.Fatal(err)
	}
	const quote = "The ozone layer is expected to recover by around 2040."
	hash, err := kept.Put(t.Context(), archive.Original{Type: "text/markdown", Source: "https://sky.example/", Fetched: time.Unix(1, 0), Bytes: []byte("# Ozone\n\n" + quote + "\n")})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		e    report.Evidence
		want app.QuoteStatus
		says string
	}{
		{"kept", report.Evidence{Quote: quote, Source: "https://sky.example/", Original: hash, End: len(quote)}, app.QuoteFound, ""},
		{"of a search", report.Evidence{Quote: quote, Source: "https://sky.example/", End: len(quote)}, app.QuoteFound, ""},
		{"another number", report.Evidence{Quote: strings.Replace(quote, "2040", "2050", 1), Source: "https://sky.example/", Original: hash}, app.QuoteChanged, "NOT in the original"},
		{"a removed original", report.Evidence{Quote: quote, Source: "https://sky.example/", Original: strings.Repeat("0", 64)}, app.SourceGone, "with a missing original"},
		{"never kept", report.Evidence{Quote: quote, Source: "https://sea.example/"}, app.SourceNotKept, ""},
		{"of the user", report.Evidence{Quote: quote, Source: "user"}, app.QuoteOfUser, ""},
	} {
		tt.e.ID, tt.e.Cited = "e1", true
		f := &report.ReportFile{Form: "thread", Research: report.Research{
			Status: ponder.Completed, Answer: "The ozone layer is expected to recover by around 2040 [e1].", Evidence: []report.Evidence{tt.e},
		}}
		f.Shown = f.Answer
		a := &cli{App: &app.App{}, log: &logSink{out: &strings.Builder{}}}
		a.Options.Config = filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(a.Options.Config, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		v := a.VerifyReport(t.Context(), store, f)
		if v.Quotes[0].State != tt.want || v.Stands != (tt.says == "") || !strings.Contains(v.Text(), tt.says) {
			t.Errorf("%s: %s, stands %v: %s", tt.name, v.Quotes[0].State, v.Stands, v.Text())
		}
	}
}
