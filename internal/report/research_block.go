package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"

	"ponder/internal/textkit"
)

// An embeddedReport is the embedded data of a report.
type embeddedReport struct {
	Text   string          `json:"text_sha256"` // of the surrounding words: see wordsHash
	Report json.RawMessage `json:"report"`
}

// Markers of a sealing. JSON cannot have them: it escapes -- and <.
const (
	commentOpens  = "<!-- ponder-report "
	commentCloses = " -->"
	scriptOpens   = `<script type="application/json" id="ponder-report">`
	scriptCloses  = "</script>"
)

// embedReport returns a report with its sealing between before and after.
func embedReport(before, opens string, r *Research, closes, after string) ([]byte, error) {
	r.Seal = r.computeSeal()
	js, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write a report: %w", err)
	}
	js, err = json.Marshal(embeddedReport{wordsHash(before + after), js})
	if err != nil {
		return nil, fmt.Errorf("write a report: %w", err)
	}
	return []byte(before + opens + strings.ReplaceAll(string(js), "--", `-\u002d`) + closes + after), nil
}

// wordsHash hashes the words of a text and ignores white space.
func wordsHash(text string) string {
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(text), " ")))
	return hex.EncodeToString(sum[:])
}

// A ReportFile is a report read from a file.
type ReportFile struct {
	Research
	Form    string // markdown, html or json
	Altered bool   // the text differs from the original
	Shown   string
	Lines   []string
	Missing []string // its missing lines
}

// ReadResearch parses a report in any form. Other input is an [ErrNoReport].
func ReadResearch(raw []byte) (*ReportFile, error) {
	if len(raw) > MaxResearch {
		return nil, fmt.Errorf("%w: too large", ErrNoReport)
	}
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && trimmed[0] == '{' {
		r, err := decodeResearch(trimmed)
		return &ReportFile{Research: r, Form: "json", Shown: r.Answer, Altered: err == nil && r.Seal != r.computeSeal()}, err
	}
	text := string(raw)
	form := "markdown"
	if strings.HasPrefix(strings.TrimSpace(text), "<") {
		form = "html"
	}
	before, js, after, ok := splitEmbedded(form, text)
	if !ok {
		return nil, ErrNoReport
	}
	var s embeddedReport
	if json.Unmarshal([]byte(js), &s) != nil {
		return nil, fmt.Errorf("%w: its embedded data is damaged", ErrNoReport)
	}
	r, err := decodeResearch(s.Report)
	if err != nil {
		return nil, err
	}
	f := &ReportFile{Research: r, Form: form}
	f.detectChanges(before+after, s.Text)
	return f, nil
}

// splitEmbedded splits a report at its sealing.
func splitEmbedded(form, text string) (before, js, after string, ok bool) {
	if form == "html" {
		return cutLast(text, scriptOpens, scriptCloses)
	}
	return cutLast(text, commentOpens, commentCloses)
}

func cutLast(text, opens, closes string) (before, inner, after string, ok bool) {
	i := strings.LastIndex(text, opens)
	if i < 0 {
		return "", "", "", false
	}
	before, rest := text[:i], text[i+len(opens):]
	inner, after, ok = strings.Cut(rest, closes)
	return before, inner, after, ok
}

// detectChanges compares the text with the hash, and finds differences.
func (f *ReportFile) detectChanges(text, hash string) {
	f.Altered = wordsHash(text) != hash || f.Seal != f.computeSeal()
	f.Shown = f.Answer
	if wordsHash(text) == hash {
		return
	}
	lines, shown, write := nonEmpty, markdownAnswer, f.Markdown
	if f.Form == "html" {
		lines, shown, write = pageLines, pageAnswer, f.HTML
	}
	if was, err := write(); err == nil {
		before, _, after, _ := splitEmbedded(f.Form, string(was))
		f.Lines, f.Missing = lineDifferences(lines(text), lines(before+after))
	}
	f.Shown = f.restoreIDs(shown(text))
}

const maxDifferences = 20

func lineDifferences(now, was []string) (added, gone []string) {
	only := func(a, b []string) (list []string) {
		n := make(map[string]int)
		for _, l := range b {
			n[l]++
		}
		for _, l := range a {
			if n[l]--; n[l] < 0 && len(list) < maxDifferences {
				list = append(list, l)
			}
		}
		return list
	}
	return only(now, was), only(was, now)
}

// nonEmpty returns the lines with words, with normalised space.
func nonEmpty(text string) (list []string) {
	for line := range strings.Lines(text) {
		if line = textkit.OneLine(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

func markdownAnswer(text string) string {
	_, rest, _ := strings.Cut("\n"+text, "\n## Answer\n")
	answer, _, _ := strings.Cut(rest, "\n## ")
	answer, _, _ = strings.Cut(answer, "\n---\n")
	return strings.TrimSpace(answer)
}

// shownNumber matches a citation in Markdown.
var shownNumber = regexp.MustCompile(`\\?\[(\d{1,6})\\?\]`)

// shownMark matches the mark of an unsupported claim in Markdown.
var shownMark = regexp.MustCompile(`\\?\[(unverified|partly supported|contradicted)(?: by \d{1,6})?\\?\]`)

// restoreIDs replaces citations by ids and removes marks.
func (f *ReportFile) restoreIDs(text string) string {
	text = shownMark.ReplaceAllString(text, "")
	n := f.numberCitations()
	return shownNumber.ReplaceAllStringFunc(text, func(s string) string {
		for id, k := range n.numberByID {
			if k > 0 && fmt.Sprint(k) == shownNumber.FindStringSubmatch(s)[1] {
				return "[" + id + "]"
			}
		}
		return s
	})
}

// Parts of a page that this package wrote.
var (
	unseen        = regexp.MustCompile(`(?s)<(head|style|script)\b.*?</(head|style|script)>`)
	pageMark      = regexp.MustCompile(`<a class="cite"[^>]*>(\d+)</a>`)
	pageSign      = regexp.MustCompile(`(?s)<a class="sign[^>]*>.*?</a>`)
	pageBreak     = regexp.MustCompile(`(?i)</?(p|div|li|ul|ol|tr|td|th|h[1-6]|section|blockquote|pre|summary|details|table|header|footer|figcaption|br|hr)\b[^>]*>`)
	pageTag       = regexp.MustCompile(`<[^>]*>`)
	answerSection = regexp.MustCompile(`(?s)<section id="answer".*?<div class="prose">(.*?)</div>\s*</section>`)
	manyBreaks    = regexp.MustCompile(`\n\s*\n\s*`)
)

// pageText returns the visible text of a page, with blocks as paragraphs.
func pageText(page string) string {
	page = unseen.ReplaceAllString(page, "")
	page = pageSign.ReplaceAllString(page, "")
	page = pageMark.ReplaceAllString(page, " [$1]")
	page = pageTag.ReplaceAllString(pageBreak.ReplaceAllString(page, "\n\n"), "")
	return strings.TrimSpace(manyBreaks.ReplaceAllString(html.UnescapeString(page), "\n\n"))
}

func pageLines(page string) []string { return nonEmpty(pageText(page)) }

func pageAnswer(page string) string {
	m := answerSection.FindStringSubmatch(page)
	if m == nil {
		return ""
	}
	return pageText(m[1])
}
