package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"
)

// The documents of OTLP, version 1, in JSON: numbers of 64 bits are strings, ids are
// hexadecimal.
type (
	otlpDocument struct {
		Resources []otlpResource `json:"resourceSpans"`
	}
	otlpResource struct {
		Resource otlpAttributes `json:"resource"`
		Scopes   []otlpScope    `json:"scopeSpans"`
	}
	otlpAttributes struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpScope struct {
		Scope struct {
			Name    string `json:"name"`
			Version string `json:"version,omitempty"`
		} `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpSpan struct {
		Trace      string          `json:"traceId"`
		ID         string          `json:"spanId"`
		Parent     string          `json:"parentSpanId,omitempty"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes"`
		Status     struct {
			Code int `json:"code,omitempty"`
		} `json:"status"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		Text   *string  `json:"stringValue,omitempty"`
		Int    *string  `json:"intValue,omitempty"`
		Double *float64 `json:"doubleValue,omitempty"`
		List   *struct {
			Values []otlpValue `json:"values"`
		} `json:"arrayValue,omitempty"`
	}
)

// Numbers of OTLP.
const (
	kindInternal = 1
	kindServer   = 2
	kindClient   = 3
	codeError    = 2
)

// document returns spans as they are sent.
func (t *Traces) document(batch []span) otlpDocument {
	scope := otlpScope{Spans: make([]otlpSpan, len(batch))}
	scope.Scope.Name, scope.Scope.Version = "ponder", t.cfg.Version
	for i, s := range batch {
		one := otlpSpan{
			Trace: s.trace, ID: s.id, Parent: s.parent, Name: s.name, Kind: cmp.Or(s.kind, kindInternal),
			Start: nanos(s.began), End: nanos(s.end), Attributes: attributesOf(s.attributes),
		}
		if s.failed {
			one.Status.Code = codeError
		}
		scope.Spans[i] = one
	}
	about := []attribute{{"service.name", t.cfg.Service}, {"service.version", cmp.Or(t.cfg.Version, "dev")}}
	for _, name := range slices.Sorted(maps.Keys(t.cfg.Attributes)) {
		about = append(about, attribute{name, t.cfg.Attributes[name]})
	}
	return otlpDocument{[]otlpResource{{otlpAttributes{attributesOf(about)}, []otlpScope{scope}}}}
}

func attributesOf(list []attribute) []otlpAttribute {
	all := make([]otlpAttribute, len(list))
	for i, a := range list {
		all[i] = otlpAttribute{a.name, valueOf(a.value)}
	}
	return all
}

func valueOf(v any) (o otlpValue) {
	switch v := v.(type) {
	case string:
		o.Text = &v
	case int:
		text := strconv.Itoa(v)
		o.Int = &text
	case float64:
		o.Double = &v
	case []string:
		o.List = &struct {
			Values []otlpValue `json:"values"`
		}{make([]otlpValue, len(v))}
		for i := range v {
			o.List.Values[i] = valueOf(v[i])
		}
	}
	return o
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
