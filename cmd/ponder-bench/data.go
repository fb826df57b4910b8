package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"ponder/knowledge/recall/index"
	"ponder/store/sqldb"
	"ponder/store/sqlite"
)

// dataDir contains the test collections, relative to the module.
var dataDir = filepath.Join("..", "shared", "data")

// requireData returns the path of a collection, or an error that names the missing one.
func requireData(parts ...string) (string, error) {
	path := filepath.Join(append([]string{dataDir}, parts...)...)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("open the data of this scenario: %w", err)
	}
	return path, nil
}

// A record is a document or question of a collection.
type record struct {
	ID          string `json:"_id"`
	Title, Text string
}

// A collection is a test collection in BEIR format.
type collection struct {
	docs, queries []record
	rel           map[string]map[string]float64 // by question and document
}

func readCollection(name string) (c collection, err error) {
	dir, err := requireData("ir", name)
	if err != nil {
		return c, err
	}
	if c.docs, err = readRecords(filepath.Join(dir, "corpus.jsonl")); err != nil {
		return c, err
	}
	all, err := readRecords(filepath.Join(dir, "queries.jsonl"))
	if err != nil {
		return c, err
	}
	c.rel = make(map[string]map[string]float64)
	err = eachLine(filepath.Join(dir, "qrels.tsv"), func(line []byte) error {
		var q, d string
		var score float64
		if _, err := fmt.Sscan(string(line), &q, &d, &score); err != nil {
			return nil //nolint:nilerr // the header
		}
		if c.rel[q] == nil {
			c.rel[q] = make(map[string]float64)
		}
		c.rel[q][d] = score
		return nil
	})
	for _, q := range all {
		if len(c.rel[q.ID]) > 0 {
			c.queries = append(c.queries, q)
		}
	}
	return c, err
}

func readRecords(file string) (list []record, err error) {
	err = eachLine(file, func(line []byte) error {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		list = append(list, r)
		return nil
	})
	return list, err
}

func eachLine(file string, do func([]byte) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		if err := do(s.Bytes()); err != nil {
			return err
		}
	}
	return s.Err()
}

// ndcgAt10 returns the normalised discounted cumulative gain at ten.
func ndcgAt10(ranking []string, rel map[string]float64) float64 {
	gain := func(scores []float64) (g float64) {
		for i, s := range scores[:min(10, len(scores))] {
			g += s / math.Log2(float64(i+2))
		}
		return g
	}
	var got, ideal []float64
	for _, id := range ranking {
		got = append(got, rel[id])
	}
	for _, s := range rel {
		ideal = append(ideal, s)
	}
	slices.Sort(ideal)
	slices.Reverse(ideal)
	return gain(got) / gain(ideal)
}

func averagePrecision(ranking []string, rel map[string]float64) float64 {
	sum, hits, all := 0.0, 0.0, 0.0
	for _, s := range rel {
		if s > 0 {
			all++
		}
	}
	for i, id := range ranking {
		if rel[id] > 0 {
			hits++
			sum += hits / float64(i+1)
		}
	}
	return sum / max(1, all)
}

// newDatabase returns a temporary database and a function that removes it.
func newDatabase(ctx context.Context) (sqldb.DB, func(), error) {
	dir, err := os.MkdirTemp("", "ponder-bench-")
	if err != nil {
		return sqldb.DB{}, nil, err
	}
	store, err := sqlite.Open(ctx, filepath.Join(dir, "ponder.db"))
	if err != nil {
		os.RemoveAll(dir)
		return sqldb.DB{}, nil, err
	}
	return store.SQL(), func() { store.Close(); os.RemoveAll(dir) }, nil
}

func indexDocs(ctx context.Context, db sqldb.DB, x *index.Index, docs []index.Doc) error {
	for part := range slices.Chunk(docs, 500) {
		if err := addDocs(ctx, db, x, part); err != nil {
			return err
		}
	}
	return nil
}
