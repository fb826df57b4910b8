package web

import (
	"time"

	"ponder/knowledge/evidence"
)

// NewJudge returns an [Options.Judge] that uses package evidence: the kind of each source,
// copies of one text, and corroboration among several pages. The name of a cluster is the
// address of its first page. A page without copies has no cluster.
func NewJudge(now func() time.Time) func([]Piece) []Judgement {
	return func(list []Piece) []Judgement {
		pieces := make([]evidence.Piece, len(list))
		for i, p := range list {
			pieces[i] = evidence.Piece{
				ID: p.URL, Source: p.URL, URL: p.URL, Title: p.Title, Author: p.Author, Text: p.Text, Published: p.Published, Fetched: p.Fetched,
				Score: p.Score, Provider: p.Provider, Local: p.Local,
			}
		}
		clusters := evidence.Cluster(pieces)
		support := evidence.Corroborate(pieces, clusters)
		size := make(map[string]int)
		for _, c := range clusters {
			size[c]++
		}
		out := make([]Judgement, len(list))
		for i, p := range pieces {
			out[i].Quality = evidence.Judge(p, now())
			if size[clusters[i]] > 1 {
				out[i].Cluster = clusters[i]
			}
			if len(pieces) > 1 {
				out[i].Voices, out[i].Quality = support[i].Voices, append(out[i].Quality, support[i].Signal)
			}
		}
		return out
	}
}
