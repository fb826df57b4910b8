package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/research"
)

// ResearchFormat names the JSON form. Incompatible changes increment its number.
const ResearchFormat = "ponder-research/1"

// A Research is a report of research in its JSON form: see docs/research.md. Its Markdown and
// HTML embed it, so that they can be checked without the thread.
type Research struct {
	Format       string          `json:"format"`
	Thread       ponder.ThreadID `json:"thread_id,omitempty"`
	Question     string          `json:"question"`
	Status       ponder.Status   `json:"status"`
	Reason       string          `json:"stop_reason,omitempty"`
	Started      time.Time       `json:"started_at,omitzero"`
	Ended        time.Time       `json:"ended_at,omitzero"`
	Seconds      float64         `json:"seconds"` // of work
	Rounds       int             `json:"rounds"`
	Model        string          `json:"model,omitempty"`
	WithoutModel bool            `json:"without_model,omitempty"` // at least the answer

	Answer    string        `json:"answer"` // Markdown with evidence ids; unsupported claims are marked
	Claims    []Claim       `json:"claims"`
	Evidence  []Evidence    `json:"evidence"`
	Conflicts []Conflict    `json:"conflicts"`
	Queries   []Query       `json:"queries"`
	Open      []string      `json:"not_confirmed,omitempty"` // unresolved points
	Removed   []string      `json:"removed_citations,omitempty"`
	Timeline  []Moment      `json:"timeline"`
	Steering  []SteerRecord `json:"steering,omitempty"`
	Since     *Since        `json:"since,omitempty"`
	Notes     []string      `json:"notes,omitempty"`
	Cost      Cost          `json:"cost"`

	End     ponder.EndReason `json:"end_reason,omitempty"` // the code of Reason
	Refused bool             `json:"refused,omitempty"`    // the budget ended before the call for the answer, which consists of quotations

	Seal string `json:"seal,omitempty"` // SHA-256 of the JSON without white space and seal, hex
}

type Claim struct {
	ID      string    `json:"id"`
	Text    string    `json:"text"` // without citations
	Start   int       `json:"start"`
	End     int       `json:"end"`    // bytes of the answer without marks
	Status  string    `json:"status"` // supported, qualified, contradicted, unverified, inference
	Score   float64   `json:"score"`
	Reason  string    `json:"reason,omitempty"`
	Cites   []string  `json:"cites,omitempty"`
	Quotes  []Passage `json:"quotes,omitempty"`
	Against []Passage `json:"against,omitempty"`
	Judge   string    `json:"judge,omitempty"` // the model that judged it
}

type Passage struct {
	Evidence string `json:"evidence"`
	Start    int    `json:"start"` // bytes of the quote
	End      int    `json:"end"`
}

type Evidence struct {
	ID        string          `json:"id"`
	Quote     string          `json:"quote"`
	Source    string          `json:"source"`
	URL       string          `json:"url,omitempty"`
	Title     string          `json:"title,omitempty"`
	Author    string          `json:"author,omitempty"`
	Section   string          `json:"section,omitempty"`
	Page      int             `json:"page,omitempty"`
	Start     int             `json:"start"` // byte offset in the text of Hash
	End       int             `json:"end"`
	Hash      string          `json:"hash,omitempty"`     // SHA-256 of the text, hex
	Original  string          `json:"original,omitempty"` // SHA-256 of the archived bytes, hex
	Published time.Time       `json:"published,omitzero"`
	Fetched   time.Time       `json:"fetched,omitzero"`
	Tool      string          `json:"tool,omitempty"`
	Query     string          `json:"query,omitempty"`
	Provider  string          `json:"provider,omitempty"`
	Score     float64         `json:"score,omitempty"`
	Cluster   string          `json:"cluster,omitempty"` // equal for copies of one text
	Voices    int             `json:"voices,omitempty"`  // independent sources with the same statement
	Quality   []ponder.Signal `json:"quality,omitempty"`
	Untrusted bool            `json:"untrusted,omitempty"`
	Cited     bool            `json:"cited,omitempty"`
	Pinned    bool            `json:"pinned,omitempty"`
	Banned    bool            `json:"banned,omitempty"`
	Icon      string          `json:"icon,omitempty"` // of its site: a data URI
}

type Conflict struct {
	Subject   string `json:"subject"`
	Attribute string `json:"attribute"`
	Time      string `json:"time,omitempty"`
	Unit      string `json:"unit,omitempty"`
	Sides     []Side `json:"sides"`
}

type Side struct {
	Value  string    `json:"value"`
	Quotes []Passage `json:"quotes"`
	Voices int       `json:"voices"`
	Newest time.Time `json:"newest,omitzero"`
}

type Query struct {
	Round int           `json:"round,omitempty"`
	Tool  string        `json:"tool"` // web, memory, ...
	Text  string        `json:"query"`
	Found int           `json:"found"`           // passages that it found first
	Age   time.Duration `json:"age_ns,omitzero"` // of a cached result
	Error string        `json:"error,omitempty"`
}

type Moment struct {
	At   float64 `json:"at"`
	Kind string  `json:"kind"`
	Text string  `json:"text"`
}

// A SteerRecord is a command of the user and its result.
type SteerRecord struct {
	At      float64 `json:"at"`
	Request string  `json:"wish"`
	Effect  string  `json:"effect,omitempty"`
	Refused bool    `json:"refused,omitempty"`
}

func (w SteerRecord) Outcome() string {
	switch {
	case w.Refused:
		return "refused: " + w.Effect
	case w.Effect == "":
		return "not acknowledged"
	}
	return w.Effect
}

type Cost struct {
	Calls    int         `json:"calls"`
	Failed   int         `json:"failed,omitempty"`
	Input    int         `json:"tokens_in"`
	Output   int         `json:"tokens_out"`
	USD      float64     `json:"usd"`
	Unpriced int         `json:"calls_without_price,omitempty"`
	Models   []ModelCost `json:"models,omitempty"`
}

type ModelCost struct {
	Model    string  `json:"model"`
	Calls    int     `json:"calls"`
	Failed   int     `json:"failed,omitempty"`
	Input    int     `json:"tokens_in"`
	Output   int     `json:"tokens_out"`
	USD      float64 `json:"usd"`
	Unpriced int     `json:"calls_without_price,omitempty"`
}

const (
	// MaxResearch bounds a report, in bytes.
	MaxResearch = 64 << 20
	maxClaims   = 10_000
	maxEvidence = 10_000
)

// ErrNoReport means that a file is no report of research.
var ErrNoReport = errors.New("not a report of research")

// JSON returns the JSON form with a final newline.
func (r Research) JSON() ([]byte, error) {
	r.fillEmptyLists()
	r.Seal = r.computeSeal()
	js, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write a report: %w", err)
	}
	return append(js, '\n'), nil
}

func (r *Research) fillEmptyLists() {
	r.Format = ResearchFormat
	if r.Claims == nil {
		r.Claims = []Claim{}
	}
	if r.Evidence == nil {
		r.Evidence = []Evidence{}
	}
	if r.Conflicts == nil {
		r.Conflicts = []Conflict{}
	}
	if r.Queries == nil {
		r.Queries = []Query{}
	}
	if r.Timeline == nil {
		r.Timeline = []Moment{}
	}
}

// computeSeal returns a hash that reveals manual changes.
func (r Research) computeSeal() string {
	r.fillEmptyLists()
	r.Seal = ""
	js, err := json.Marshal(r)
	if err != nil {
		return ""
	}
	var read Research // normalises text as reading does
	if json.Unmarshal(js, &read) == nil {
		if again, err := json.Marshal(read); err == nil {
			js = again
		}
	}
	sum := sha256.Sum256(js)
	return hex.EncodeToString(sum[:])
}

// decodeResearch parses the JSON form and checks its limits and references.
func decodeResearch(js []byte) (Research, error) {
	var r Research
	var head struct {
		Format string `json:"format"`
	}
	if json.Unmarshal(js, &head) != nil || head.Format == "" {
		return r, ErrNoReport
	}
	if head.Format != ResearchFormat {
		return r, fmt.Errorf("%w in a known format: %q, not %q", ErrNoReport, textkit.TruncateWords(textkit.OneLine(head.Format), 40), ResearchFormat)
	}
	if err := json.Unmarshal(js, &r); err != nil {
		return r, fmt.Errorf("%w: %s", ErrNoReport, textkit.TruncateWords(textkit.OneLine(err.Error()), 120))
	}
	if len(r.Claims) > maxClaims || len(r.Evidence) > maxEvidence {
		return r, fmt.Errorf("%w: too many claims or quotes", ErrNoReport)
	}
	return r, nil
}

func (r *Research) findEvidence(id string) (Evidence, bool) {
	for _, e := range r.Evidence {
		if e.ID == id {
			return e, true
		}
	}
	return Evidence{}, false
}

// Counts returns the number of claims by status.
func (r *Research) Counts() map[string]int {
	n := make(map[string]int)
	for _, c := range r.Claims {
		n[c.Status]++
	}
	return n
}

// NewResearch returns the report of a research. since is the report that it updated; may be nil.
func NewResearch(v research.View, since *research.Report) Research {
	h := v.Research
	r := Research{
		Format: ResearchFormat, Thread: h.ID, Question: h.Question, Status: h.Status, Reason: h.StopReason, End: h.End, Started: h.Started, Ended: h.Completed,
		Seconds: h.Elapsed, Rounds: h.Rounds, Model: h.Model, WithoutModel: h.WithoutModel, Refused: h.Refused, Answer: h.Answer, Open: h.Remaining, Removed: v.Removed, Notes: v.Notes,
	}
	for _, c := range v.Claims {
		r.Claims = append(r.Claims, newClaim(c))
	}
	for _, e := range v.Evidence {
		r.Evidence = append(r.Evidence, newEvidence(e))
	}
	for _, c := range v.Conflicts {
		r.Conflicts = append(r.Conflicts, newConflict(c))
	}
	for _, q := range v.Queries {
		r.Queries = append(r.Queries, Query{Round: q.Round, Tool: q.Tool, Text: q.Text, Found: q.Found, Age: resultAge(v, q), Error: q.Error})
	}
	r.Timeline, r.Steering = buildTimeline(v), steerRecords(v)
	r.Cost = newCost(h.Usage)
	if since != nil {
		r.Since = compareOlder(*since, &r)
	}
	return r
}

func newClaim(c research.Claim) Claim {
	return Claim{
		ID: c.ID, Text: c.Text, Start: c.Start, End: c.End, Status: c.Verdict, Score: c.Score, Reason: c.Reason, Cites: c.Cites,
		Quotes: toPassages(c.Quotes), Against: toPassages(c.Against), Judge: c.Judge,
	}
}

func toPassages(list []ponder.Passage) (out []Passage) {
	for _, p := range list {
		out = append(out, Passage{p.Evidence, p.Start, p.End})
	}
	return out
}

func newEvidence(e research.Evidence) Evidence {
	return Evidence{
		ID: e.ID, Quote: e.Quote, Source: e.Source, URL: e.URL, Title: e.Title, Author: e.Author, Section: e.Section, Page: e.Page,
		Start: e.Start, End: e.End, Hash: e.Hash, Original: e.Original, Published: e.Published, Fetched: e.Fetched,
		Tool: cmp.Or(e.Found.Tool, e.Tool, strings.Join(e.FoundBy, ", ")), Query: e.Found.Query, Provider: e.Found.Provider, Score: e.Score,
		Cluster: e.Cluster, Voices: e.Voices, Quality: e.Quality, Untrusted: e.Untrusted, Cited: e.Cited, Pinned: e.Pinned, Banned: e.Banned,
	}
}

func newConflict(c ponder.Conflict) Conflict {
	out := Conflict{Subject: c.Subject, Attribute: c.Attribute, Time: c.Time, Unit: c.Unit}
	for _, s := range c.Sides {
		out.Sides = append(out.Sides, Side{s.Value, toPassages(s.Quotes), s.Voices, s.Newest})
	}
	return out
}

// minCacheAge is the age from which a fetched page counts as cached.
const minCacheAge = time.Minute

// resultAge returns the age of a cached result, else of its newest passage.
func resultAge(v research.View, q research.Query) (age time.Duration) {
	if q.Age > 0 {
		return time.Duration(q.Age) * time.Second
	}
	if q.Text == "" {
		return 0
	}
	for _, e := range v.Evidence {
		if e.Fetched.IsZero() || e.Found.Query != q.Text && e.URL != q.Text {
			continue
		}
		if old := e.Created.Sub(e.Fetched); age == 0 || old < age {
			age = old
		}
	}
	if age < minCacheAge {
		return 0
	}
	return age.Truncate(time.Second)
}

// maxMoments bounds the timeline.
const maxMoments = 500

func buildTimeline(v research.View) (list []Moment) {
	for _, e := range v.Evidence {
		list = append(list, Moment{At: e.At, Kind: "evidence", Text: e.ID + " " + cmp.Or(e.Title, e.URL, e.Source)})
	}
	for _, m := range v.Timeline {
		if text := cmp.Or(m.Message, m.Label, m.Query); text != "" {
			list = append(list, Moment{At: m.At, Kind: cmp.Or(m.Stage, "note"), Text: text})
		}
	}
	slices.SortStableFunc(list, func(a, b Moment) int { return cmp.Compare(a.At, b.At) })
	return list[:min(len(list), maxMoments)]
}

func steerRecords(v research.View) (list []SteerRecord) {
	for _, w := range v.Steering {
		what := strings.ReplaceAll(string(w.Order), "_", " ")
		if about := strings.TrimSpace(strings.Join([]string{w.Content, w.Target}, " ")); about != "" {
			what += ": " + about
		}
		list = append(list, SteerRecord{w.At, what, w.Effect, w.Refused})
	}
	return list
}

func newCost(u research.Usage) Cost {
	c := Cost{Calls: u.Calls, Failed: u.Failed, Input: u.Input, Output: u.Output, USD: u.USD, Unpriced: u.Unpriced}
	for _, m := range u.Models {
		c.Models = append(c.Models, ModelCost{m.Model, m.Calls, m.Failed, m.Input, m.Output, m.USD, m.Unpriced})
	}
	return c
}
