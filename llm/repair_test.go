package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/internal/racetest"
	"ponder/internal/textkit"
)

type repairCase struct {
	name, text, want, err string
}

func repairCases(t testing.TB) (cases []repairCase) {
	t.Helper()
	data, err := os.ReadFile("testdata/repair.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(data), "\n=== ")[1:] {
		part = strings.TrimSuffix(part, "\n")
		name, rest, _ := strings.Cut(part, "\n")
		i := strings.LastIndex(rest, "\n")
		c := repairCase{name: name, text: rest[:max(i, 0)]}
		last := rest[i+1:]
		if what, ok := strings.CutPrefix(last, "error: "); ok {
			c.err = what
		} else if c.want, ok = strings.CutPrefix(last, "--- "); !ok {
			t.Fatalf("case %s: last line %q", name, last)
		}
		cases = append(cases, c)
	}
	if len(cases) < 60 {
		t.Fatalf("%d cases, want at least 60", len(cases))
	}
	return cases
}

func TestRepair(t *testing.T) {
	for _, c := range repairCases(t) {
		t.Run(c.name, func(t *testing.T) {
			got, err := Repair(c.text)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("Repair = %s, %v, want error %q", got, err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decodeJSON(t, c.want), decodeJSON(t, string(got))); diff != "" {
				t.Errorf("Repair (-want +got):\n%s", diff)
			}
		})
	}
}

func decodeJSON(t *testing.T, data string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

// Every prefix of an answer gives valid JSON that agrees with the whole.
func TestRepairTruncated(t *testing.T) {
	const whole = "Here:\n```json\n" + `{"thoughts": [{"text": "It's \"so\", caf\u00e9 né", "confidence": 0.75, "n": -12}, {"text": "b", "tags": ["x", null, true]}], "done": false}` + "\n```\nBye."
	var want map[string]any
	if err := json.Unmarshal([]byte(whole[14:len(whole)-9]), &want); err != nil {
		t.Fatal(err)
	}
	for n := strings.Index(whole, "{") + 1; n <= len(whole); n++ {
		data, err := Repair(whole[:n])
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		var got map[string]any
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatalf("cut at %d: %v: %s", n, err, data)
		}
		if !isPartOf(got, want) {
			t.Fatalf("cut at %d: got %s", n, data)
		}
	}
}

func isPartOf(got, want any) bool {
	switch got := got.(type) {
	case map[string]any:
		want, ok := want.(map[string]any)
		for k, v := range got {
			ok = ok && isPartOf(v, want[k])
		}
		return ok
	case []any:
		want, ok := want.([]any)
		ok = ok && len(got) <= len(want)
		for i := range got {
			ok = ok && isPartOf(got[i], want[i])
		}
		return ok
	case string:
		want, ok := want.(string)
		return ok && strings.HasPrefix(want, got)
	case float64:
		want, ok := want.(float64)
		return ok && strings.HasPrefix(fmt.Sprint(want), fmt.Sprint(got))
	}
	return got == want || got == nil && want != nil
}

// Valid values in prose stay unchanged.
func TestRepairKeepsValid(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		want := map[string]any{"k": randomValue(rng, 4), randomText(rng): randomValue(rng, 3)}
		var data []byte
		if rng.IntN(2) == 0 {
			data, _ = json.Marshal(want)
		} else {
			data, _ = json.MarshalIndent(want, "", "  ")
		}
		out, err := Repair("Here you are: " + string(data) + "\nThat is all.")
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		var got map[string]any
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n%s", data, diff)
		}
	}
}

func randomValue(rng *rand.Rand, depth int) any {
	switch n := rng.IntN(10); {
	case n == 0:
		return nil
	case n == 1:
		return rng.IntN(2) == 0
	case n == 2:
		return float64(rng.IntN(1000)) / 8
	case n < 6 || depth == 0:
		return randomText(rng)
	case n < 8:
		list := []any{}
		for range rng.IntN(4) {
			list = append(list, randomValue(rng, depth-1))
		}
		return list
	default:
		m := map[string]any{}
		for range rng.IntN(4) {
			m[randomText(rng)] = randomValue(rng, depth-1)
		}
		return m
	}
}

func randomText(rng *rand.Rand) string {
	pieces := []string{`"`, `'`, `\`, ",", ":", "{", "}", "[", "]", " ", "\n", "\t", "//", "/*", "#", "```", "a", "key", "None", "1", "…", "”", "é", "\u2028", "</think>", strings.Repeat("long ", 40), "\x01", `\"`, `\n`}
	var b strings.Builder
	for range rng.IntN(8) {
		b.WriteString(pieces[rng.IntN(len(pieces))])
	}
	return b.String()
}

const stepsPerByte = 16

// JSON with full-width punctuation is the same as with ASCII, but for texts.
func TestFullWidth(t *testing.T) {
	const text = `{"a":[{"b":"x, y: {z}","c":[1,-2.5,true]},"d"],"e":{"f":null},"g":"［h］，“i”：j；"}`
	signs := map[rune]string{',': "，", ':': "：", '{': "｛", '}': "｝", '[': "［", ']': "］"}
	for mask := range 1 << len(signs) {
		var b strings.Builder
		quoted, n := false, 0
		order := ",:{}[]"
		for _, r := range text {
			if r == '"' {
				quoted = !quoted
			}
			n = strings.IndexRune(order, r)
			if !quoted && n >= 0 && mask>>n&1 == 1 {
				b.WriteString(signs[r])
			} else {
				b.WriteRune(r)
			}
		}
		got, err := Repair(b.String())
		if err != nil {
			t.Fatalf("%s: %v", b.String(), err)
		}
		if diff := cmp.Diff(decodeJSON(t, text), decodeJSON(t, string(got))); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", b.String(), diff)
		}
	}
}

// Repeated short patterns cause no backtracking.
func TestRepairIsLinear(t *testing.T) {
	racetest.Skip(t, "one goroutine, and it compares times")
	pieces := []string{`{`, `[`, `}`, `]`, `"`, `'`, `,`, `:`, ` `, "\n", `\`, `a`, `1`, `/`, `*`, `//`, `/*`, `#`, "```", "`", `<think>`, `</think>`, `"a":`, `{"`, `["`, `\"`, `“`, `...`, "-", "+", "\u00a0", "，", "：", "｛", "｝", "［", "＂", "\xef", "{\\n", "\x00", "\xff"}
	worst, worstText := 0.0, ""
	measure := func(text string) {
		_, steps, _ := repairSteps(text)
		if r := float64(steps) / float64(len(text)+16); r > worst {
			worst, worstText = r, textkit.TruncateBytes(text, 40)
		}
	}
	for _, size := range []int{1_000, 8_000} {
		for _, a := range pieces {
			for _, b := range pieces {
				unit := a + b
				measure(strings.Repeat(unit, size/len(unit)))
				measure(`{"k": "` + strings.Repeat(unit, size/len(unit)))
				measure(strings.Repeat(a, size/2/len(a)) + strings.Repeat(b, size/2/len(b)))
			}
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2_000 {
		var unit, text strings.Builder
		for range 1 + rng.IntN(6) {
			unit.WriteString(pieces[rng.IntN(len(pieces))])
		}
		for range 1 + rng.IntN(3) {
			text.WriteString(pieces[rng.IntN(len(pieces))])
		}
		for text.Len() < 4_000 {
			text.WriteString(unit.String())
		}
		measure(text.String())
	}
	t.Logf("worst: %.1f steps per byte for %q", worst, worstText)
	if worst > stepsPerByte {
		t.Errorf("%.1f steps per byte for %q", worst, worstText)
	}
}

func TestRepairBounds(t *testing.T) {
	racetest.Skip(t, "one goroutine, and it compares times")
	tests := []struct {
		name, text, err string
	}{
		{"too long", strings.Repeat("x", MaxRepair+1), "longer than 256 KB"},
		{"too deep", strings.Repeat("[", maxRepairDepth+1), "deeper than 200 levels"},
		{"too deep, objects", strings.Repeat(`{"a":`, maxRepairDepth+1), "deeper than 200 levels"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := Repair(test.text); err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("error = %v, want %q", err, test.err)
			}
		})
	}
	if got, err := Repair(strings.Repeat("[", maxRepairDepth)); err != nil || len(got) != 2*maxRepairDepth {
		t.Errorf("deepest = %d bytes, %v", len(got), err)
	}
}

func FuzzRepair(f *testing.F) {
	for _, c := range repairCases(f) {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, steps, err := repairSteps(text)
		if steps > stepsPerByte*(len(text)+16) {
			t.Fatalf("%d steps for %d bytes", steps, len(text))
		}
		if err != nil {
			return
		}
		for _, v := range sortByRank(found) {
			if !json.Valid(v) {
				t.Fatalf("not JSON: %s", v)
			}
			if again, err := Repair(string(v)); err != nil || !bytes.Equal(again, v) {
				t.Fatalf("Repair(%s) = %s, %v", v, again, err)
			}
		}
	})
}

func BenchmarkRepair(b *testing.B) {
	text := "Here:\n```json\n" + `{"thoughts": [` + strings.Repeat(`{'text': "It is "so", is it not?", confidence: .75,}, `, 4000) + `]}`
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Repair(text); err != nil {
			b.Fatal(err)
		}
	}
}
