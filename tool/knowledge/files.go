package knowledge

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"ponder/internal/textkit"
	"ponder/knowledge/document"
	"ponder/knowledge/lookup"
)

// fileKind is the Kind of hits in files.
const fileKind = "file"

// searchFiles adds the hits in files.
func (s *searcher) searchFiles(ctx context.Context, in input, r *lookup.Found) error {
	paths, err := s.allowedPaths(in.Paths)
	if err != nil {
		return err
	}
	docs, skipped, err := s.cache.loadDocuments(ctx, paths)
	if err != nil {
		return err
	}
	for _, s := range skipped[:min(len(skipped), maxSkipped)] {
		r.Skipped = append(r.Skipped, lookup.SkippedFile{Path: document.QuotePath(s.Path), Reason: s.Reason})
	}
	r.More = max(0, len(skipped)-maxSkipped)
	r.Documents, r.Sentences = len(docs.Documents()), docs.Sentences()
	for _, h := range findHits(docs, in, in.Limit) {
		r.Hits = append(r.Hits, newHit(docs, h, in.Query))
	}
	return nil
}

// findHits searches documents. It excludes and prefers sources as the input says.
func findHits(docs *document.Collection, in input, limit int) []document.Hit {
	opts, n := document.SearchOptions{Exclude: in.Exclude, MinRelativeScore: minScore, Diversity: diversity}, limit
	if len(in.Prefer)+len(in.Without) > 0 {
		n = candidateFactor * limit
	}
	found := docs.Search(in.Query, n, opts)
	if n == limit {
		return found
	}
	found = slices.DeleteFunc(found, func(h document.Hit) bool { return isNamed(h.Document.Source, in.Without) })
	for i, h := range found {
		if isNamed(h.Document.Source, in.Prefer) {
			found[i].Score = min(1, preferFactor*h.Score)
		}
	}
	slices.SortStableFunc(found, func(a, b document.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return found[:min(limit, len(found))]
}

// The effect of preferred sources.
const (
	candidateFactor = 4 // factor for the candidates
	preferFactor    = 2 // factor for the score
)

// isNamed reports whether one of the names names a source: by its path, its file name or a
// folder above it.
func isNamed(source string, names []string) bool {
	for _, name := range names[:min(len(names), maxPaths)] {
		clean := filepath.Clean(name)
		if source == name || source == clean || filepath.Base(source) == name || strings.HasPrefix(source, strings.TrimSuffix(clean, string(filepath.Separator))+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

func newHit(docs *document.Collection, h document.Hit, query string) lookup.Hit {
	return lookup.Hit{
		ID: h.ID(), Kind: fileKind, Source: h.Document.Source, Title: textkit.TruncateBytes(h.Document.Title, maxLabel), Section: textkit.TruncateBytes(h.Section(), maxLabel),
		Page: h.Document.Page(h.Start), Quote: h.Quote, Start: h.Start, End: h.End, Hash: h.Document.Hash, Score: roundScore(h.Score),
		Terms: append([]string{}, h.Terms...), Topics: append([]string{}, docs.Topics(h, query, maxTopics)...), Context: h.Context(),
		Author: textkit.TruncateBytes(h.Document.Author, maxLabel), Published: storedTime(h.Document.Published), Untrusted: isMail(h.Document.Source),
	}
}

// isMail reports whether a file contains text of strangers: mail.
func isMail(path string) bool {
	path, _, _ = strings.Cut(path, "#")
	switch strings.ToLower(filepath.Ext(path)) {
	case ".eml", ".mbox", ".mbx":
		return true
	}
	return false
}

func roundScore(x float64) float64 { return float64(int(x*1000)) / 1000 }
