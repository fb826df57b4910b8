package main

import (
	"time"

	"ponder/knowledge/document"
	"ponder/knowledge/recall"
)

// A storedItem is an item as JSON.
type storedItem struct {
	ID         string            `json:"id"`
	Kind       recall.Kind       `json:"kind"`
	Persona    string            `json:"persona,omitempty"`
	Title      string            `json:"title,omitempty"`
	Text       string            `json:"text,omitempty"`
	Raw        string            `json:"raw,omitempty"`
	Source     string            `json:"source,omitempty"`
	ExternalID string            `json:"external_id,omitempty"`
	Link       string            `json:"link,omitempty"`
	Author     string            `json:"author,omitempty"`
	Tags       []string          `json:"tags,omitempty"`
	Date       time.Time         `json:"date,omitzero"`
	Added      time.Time         `json:"added"`
	Path       string            `json:"path,omitempty"`
	Hash       string            `json:"hash,omitempty"`
	Original   string            `json:"original,omitempty"`
	Size       int               `json:"size"`
	Passages   int               `json:"passages"`
	Meta       map[string]string `json:"meta,omitempty"`
}

func itemObject(it recall.Item) storedItem {
	return storedItem{
		it.ID, it.Kind, it.Persona, it.Title, it.Text, it.Raw, it.Source, it.ExternalID, it.Link, it.Author, it.Tags, it.Date, it.Added,
		it.Path, it.Hash, it.Original, it.Size, it.Passages, it.Meta,
	}
}

// A foundHit is a hit as JSON.
type foundHit struct {
	ID         string      `json:"id"`
	Item       string      `json:"item_id"`
	Kind       recall.Kind `json:"kind"`
	Score      float64     `json:"score"`
	Quote      string      `json:"quote"`
	Start      int         `json:"start"`
	End        int         `json:"end"`
	Page       int         `json:"page,omitempty"`
	Title      string      `json:"title,omitempty"`
	Section    string      `json:"section,omitempty"`
	Speaker    string      `json:"speaker,omitempty"`
	Source     string      `json:"source,omitempty"`
	ExternalID string      `json:"external_id,omitempty"`
	Link       string      `json:"link,omitempty"`
	Path       string      `json:"path,omitempty"`
	Author     string      `json:"author,omitempty"`
	Tags       []string    `json:"tags,omitempty"`
	Date       time.Time   `json:"date,omitzero"`
	Hash       string      `json:"hash"`
	Original   string      `json:"original,omitempty"`
	Context    string      `json:"context,omitempty"`
	Raw        string      `json:"raw,omitempty"`
	Terms      []string    `json:"terms,omitempty"`
	Topics     []string    `json:"topics,omitempty"`
	Cluster    string      `json:"cluster,omitempty"`
	Similar    int         `json:"similar,omitempty"`
	How        string      `json:"how"`
}

func hitObject(h recall.Hit) foundHit {
	it := h.Item
	return foundHit{
		h.ID, it.ID, it.Kind, h.Score, h.Quote, h.Start, h.End, h.Page, it.Title, h.Section, h.Speaker, it.Source, it.ExternalID, it.Link, it.Path,
		it.Author, it.Tags, h.Date, it.Hash, it.Original, h.Context, it.Raw, h.Terms, h.Topics, h.Cluster, h.Similar, h.How,
	}
}

// reportObject returns a report as JSON.
func reportObject(r recall.Report) any {
	if r.Skipped == nil {
		r.Skipped = []document.Skipped{}
	}
	return struct {
		Added     int                `json:"files_added"`
		Changed   int                `json:"files_changed"`
		Unchanged int                `json:"files_unchanged"`
		Removed   int                `json:"files_removed"`
		Items     int                `json:"items"`
		Forgotten int                `json:"items_forgotten"`
		Passages  int                `json:"passages"`
		Skipped   []document.Skipped `json:"skipped"`
	}{r.Added, r.Changed, r.Unchanged, r.Removed, r.Items, r.Forgotten, r.Passages, r.Skipped}
}
