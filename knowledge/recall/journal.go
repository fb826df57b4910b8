package recall

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"ponder/knowledge/document"
)

// A day is the text below a dated heading, or with zero date the text before the first.
type day struct {
	date time.Time
	key  string
	doc  *document.Document
}

// splitDays splits a journal by dated headings. It returns nil for fewer than two.
func splitDays(d *document.Document) []day {
	var starts []int
	var dates []time.Time
	level := 0
	for _, s := range d.Sections {
		if t, ok := parseDay(s.Title); ok && (level == 0 || s.Level == level) {
			level = s.Level
			starts, dates = append(starts, s.Start), append(dates, t)
		}
	}
	if len(starts) < 2 {
		return nil
	}
	var list []day
	seen := map[string]int{}
	if head := sliceDocument(d, 0, starts[0]); head != nil {
		list = append(list, day{key: "head", doc: head})
	}
	for i, start := range starts {
		end := len(d.Text)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		key := dates[i].Format(time.DateOnly)
		if seen[key]++; seen[key] > 1 {
			key = fmt.Sprintf("%s.%d", key, seen[key])
		}
		if doc := sliceDocument(d, start, end); doc != nil {
			list = append(list, day{dates[i], key, doc})
		}
	}
	return list
}

// sliceDocument returns a part of a document, or nil if it has only headings.
func sliceDocument(d *document.Document, start, end int) *document.Document {
	end = start + len(strings.TrimRight(d.Text[start:end], "\n "))
	s := &document.Document{Source: d.Source, Title: d.Title, Text: d.Text[start:end], Author: d.Author, Published: d.Published, Language: d.Language, Tags: d.Tags, Names: d.Names}
	index := map[int]int{-1: -1}
	for i, sec := range d.Sections {
		if sec.Start < start || sec.Start >= end {
			continue
		}
		parent, ok := index[sec.Parent]
		if !ok {
			parent = -1
		}
		index[i] = len(s.Sections)
		s.Sections = append(s.Sections, document.Section{
			Title: sec.Title, Level: sec.Level, Start: sec.Start - start, End: min(sec.End, end) - start, Parent: parent,
		})
	}
	hasText := false
	for _, u := range d.Sentences {
		if u.Start < start || u.Start >= end {
			continue
		}
		hasText = hasText || u.Kind != document.Heading
		section, ok := index[u.Section]
		if !ok {
			section = -1
		}
		u.Start, u.End, u.Section = u.Start-start, u.End-start, section
		s.Sentences = append(s.Sentences, u)
	}
	if !hasText {
		return nil
	}
	sum := sha256.Sum256([]byte(s.Text))
	s.Hash = hex.EncodeToString(sum[:])
	return s
}
