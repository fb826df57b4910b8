package metrics

import (
	"bytes"
	"cmp"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// maxSeries is how many series of a family are told apart. What comes beyond is counted
// under "other".
const maxSeries = 500

// Values are those of the labels of a series; those that a family has no label for are
// empty.
type values [4]string

// A family is what is measured under one name.
type family struct {
	name, help string
	labels     []string
	bounds     []float64 // of a histogram, ascending
	list       map[values]*series
}

// A series is what is measured under one name with one set of labels.
type series struct {
	sum     float64
	count   uint64
	buckets []uint64 // not cumulative; those above the last bound are in count alone
}

func counter(name, help string, labels ...string) *family {
	return &family{name: name, help: help, labels: labels, list: make(map[values]*series)}
}

func histogram(name, help string, bounds []float64, labels ...string) *family {
	f := counter(name, help, labels...)
	f.bounds = bounds
	return f
}

// of returns a series.
func (f *family) of(v values) *series {
	if s := f.list[v]; s != nil {
		return s
	}
	if len(f.list) >= maxSeries {
		for i := range f.labels {
			v[i] = "other"
		}
	}
	if f.list[v] == nil {
		f.list[v] = &series{buckets: make([]uint64, len(f.bounds))}
	}
	return f.list[v]
}

// add counts up; it never counts down.
func (f *family) add(x float64, v values) {
	if x > 0 {
		f.of(v).sum += x
	}
}

// observe adds to a histogram.
func (f *family) observe(x float64, v values) {
	s := f.of(v)
	s.sum, s.count = s.sum+x, s.count+1
	if i, _ := slices.BinarySearch(f.bounds, x); i < len(s.buckets) {
		s.buckets[i]++
	}
}

// write writes all that is measured in the text format of Prometheus, version 0.0.4.
func (m *Meter) write(b *bytes.Buffer) {
	for _, g := range m.gauges {
		x, ok := g.read()
		if !ok {
			continue
		}
		kind := "gauge"
		if g.counter {
			kind = "counter"
		}
		head(b, g.name, g.help, kind)
		sample(b, g.name, nil, values{}, "", x)
	}
	head(b, "ponder_build_info", "The version of the program.", "gauge")
	sample(b, "ponder_build_info", []string{"version", "goversion"}, values{cmp.Or(m.cfg.Version, "dev"), runtime.Version()}, "", 1)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.openRuns().write(b)
	for _, f := range m.all() {
		f.write(b)
	}
}

// write writes a family. One without labels is there from the beginning.
func (f *family) write(b *bytes.Buffer) {
	if len(f.labels) == 0 {
		f.of(values{})
	}
	if len(f.list) == 0 {
		return
	}
	kind := "counter"
	switch {
	case f.bounds != nil:
		kind = "histogram"
	case !strings.HasSuffix(f.name, "_total"):
		kind = "gauge"
	}
	head(b, f.name, f.help, kind)
	order := slices.SortedStableFunc(maps.Keys(f.list), func(x, y values) int { return slices.Compare(x[:], y[:]) })
	for _, v := range order {
		s := f.list[v]
		if f.bounds == nil {
			sample(b, f.name, f.labels, v, "", s.sum)
			continue
		}
		below := uint64(0)
		for i, bound := range f.bounds {
			below += s.buckets[i]
			sample(b, f.name+"_bucket", f.labels, v, decimal(bound), float64(below))
		}
		sample(b, f.name+"_bucket", f.labels, v, "+Inf", float64(s.count))
		sample(b, f.name+"_sum", f.labels, v, "", s.sum)
		sample(b, f.name+"_count", f.labels, v, "", float64(s.count))
	}
}

func head(b *bytes.Buffer, name, help, kind string) {
	b.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

// sample writes a line; le is the bound of a bucket, if it is one.
func sample(b *bytes.Buffer, name string, labels []string, v values, le string, x float64) {
	b.WriteString(name)
	sep := byte('{')
	label := func(name, value string) {
		b.WriteByte(sep)
		b.WriteString(name + `="` + escape(value) + `"`)
		sep = ','
	}
	for i, name := range labels {
		label(name, v[i])
	}
	if le != "" {
		label("le", le)
	}
	if sep == ',' {
		b.WriteByte('}')
	}
	b.WriteString(" " + decimal(x) + "\n")
}

var escaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// maxValue bounds the value of a label, in bytes.
const maxValue = 120

// escape returns a value as it stands between quotes.
func escape(text string) string {
	return escaper.Replace(strings.ToValidUTF8(text[:min(len(text), maxValue)], "?"))
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func number(n int) string { return strconv.Itoa(n) }
