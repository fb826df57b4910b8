package llmtest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"math"
	"strings"
	"unicode"
)

// dimensions is the length of embeddings where the request does not say.
const dimensions = 256

// strList is a string or several.
type strList []string

// UnmarshalJSON implements [json.Unmarshaler].
func (l *strList) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '"' {
		*l = strList{""}
		return json.Unmarshal(b, &(*l)[0])
	}
	return json.Unmarshal(b, (*[]string)(l))
}

// embed returns vectors for texts and how many tokens they have. It answers the
// request itself, and reports false, if that is an error.
func (x *exchange) embed(model string, texts []string, size int) (vectors [][]float32, tokens int, ok bool) {
	x.rec.Model = model
	if why, ok := x.within(); !ok {
		x.fail(why)
		return nil, 0, false
	}
	if !x.has(model) {
		x.fail(failure{kind: noModel})
		return nil, 0, false
	}
	a := &ask{model: model}
	for _, t := range texts {
		a.turn("user")
		a.say("user", t)
	}
	r, why, ok := x.plan(a)
	if !ok {
		x.fail(why)
		return nil, 0, false
	}
	s := &stream{x: x, r: r, slow: 1}
	if r.conduct.has(Hang) {
		<-x.r.Context().Done()
		return nil, 0, false
	}
	if !s.wait(x.config.FirstToken) {
		return nil, 0, false
	}
	for _, t := range texts {
		vectors = append(vectors, x.vector(model, t, size))
		tokens += (len(t) + 3) / 4
	}
	x.rec.Whole = true
	return vectors, tokens, true
}

// vector returns the embedding of a text by a model.
func (x *exchange) vector(model, text string, size int) []float32 {
	if x.config.LSA != nil && strings.TrimSuffix(model, ":latest") == LSAModel {
		return x.config.LSA.embed(text, size)
	}
	if size <= 0 || size > 4096 {
		size = dimensions
	}
	return embedding(text, size)
}

// embedding returns a vector of length 1 that is near those of texts with the
// same words.
func embedding(text string, size int) []float32 {
	v := make([]float32, size)
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(strings.TrimSuffix(word, "s"))) // never fails
		x := h.Sum64()
		for range 4 { // some coordinates of each word
			x = mix(x, 1)
			v[x%uint64(size)] += float32(int(x>>32&1)*2 - 1)
		}
	}
	var sum float64
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	if sum == 0 {
		v[0], sum = 1, 1
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// embeddingFormat returns a vector as OpenAI sends it: numbers, or base64 of
// little-endian floats.
func embeddingFormat(v []float32, format string) any {
	if format != "base64" {
		return v
	}
	b := make([]byte, 0, 4*len(v))
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return base64.StdEncoding.EncodeToString(b)
}
