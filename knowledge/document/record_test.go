package document

import (
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder/internal/racetest"
)

func partsOutline(parts iter.Seq2[Part, error]) string {
	var b strings.Builder
	for p, err := range parts {
		if err != nil {
			fmt.Fprintf(&b, "! %s %v\n", p.Key, err)
			continue
		}
		if p.Key != "" {
			fmt.Fprintf(&b, "= %s (%s, %s)\n", p.Key, p.Author, p.Published.Format(time.DateOnly))
		}
		b.WriteString(formatContent(p.Content))
	}
	return b.String()
}

func checkParts(t *testing.T, cases []formatCase, read func([]byte) iter.Seq2[Part, error]) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, partsOutline(read([]byte(c.in)))); diff != "" {
				t.Errorf("outline (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCSV(t *testing.T) {
	checkParts(t, []formatCase{
		{"a table", "name,city\nAnna,Graz\n\"Moss, Ben\",\n", "R name: Anna | city: Graz\nR name: Moss, Ben\n"},
		{"semicolons", "name;amount\nAnna;1,50\nBen;2,00\n", "R name: Anna | amount: 1,50\nR name: Ben | amount: 2,00\n"},
		{"no header", "Anna,1980,5\nBen,1975,7\n", "R Anna | 1980 | 5\nR Ben | 1975 | 7\n"},
		{"lines in cells", "id,what\n7,\"one\ntwo\"\n", "R id: 7 | what: one two\n"},
		{"bad quotes", "a,b\nx \"y\" z,\"w\n", "R a: x \"y\" z | b: w\n"},
		{"uneven", "a,b\n1\n1,2,3\n", "R a: 1\nR a: 1 | b: 2 | 3\n"},
		{
			"posts", "id,created_at,text,author,link\n9,2024-03-05,The tide came in at seven today.,anna,http://x.y/9\n10,2024-03-06,And it went out again at one.,ben,http://x.y/10\n",
			"= 9 (anna, 2024-03-05)\nP The tide came in at seven today.\nI author: anna\n= 10 (ben, 2024-03-06)\nP And it went out again at one.\nI author: ben\n",
		},
		{"one column", "word\nropes\n", "R word\nR ropes\n"},
		{"empty", "", ""},
	}, CSV)
}

func TestJSONLines(t *testing.T) {
	checkParts(t, []formatCase{
		{
			"posts", `{"external_id":"a1","text":"# Tides\nThe tide came in at seven.","raw":"tide at 7!!","date":1709629200,"tags":["sea","harbour"],"author":"anna"}` + "\n" +
				`{"external_id":"a1","text":"And it went out again at one.","date":"2024-03-06T10:00:00Z"}` + "\n",
			"= a1 (anna, 2024-03-05)\nT Tides\nH1 Tides\nP The tide came in at seven.\nI tags: sea, harbour\nI author: anna\nP tide at 7!!\n" +
				"= a1~2 (, 2024-03-06)\nP And it went out again at one.\n",
		},
		{"without ids", `{"text":"The tide came in at seven.","date":"2024-03-05"}`, "= 77906e4a7bb9 (, 2024-03-05)\nP The tide came in at seven.\n"},
		{"a talk", `{"role":"user","content":"When does the tide come in?"}` + "\n" + `{"role":"assistant","content":"At seven."}`, "R role: user | content: When does the tide come in?\nR role: assistant | content: At seven.\n"},
		{"bad lines", `{"a":1}` + "\n{\"a\":\n\nnope\n" + `{"a":2}`, "! line 2 not JSON: unexpected EOF\n! line 4 not JSON: invalid character 'o' in literal null (expecting 'u')\nR a: 1\nR a: 2\n"},
		{"empty", "\n\n", ""},
	}, JSONLines)
}

func TestJSON(t *testing.T) {
	checkParts(t, []formatCase{
		{"settings", `{"name":"harbour","size":{"width":12,"deep":true},"none":null,"tags":["sea","ships"]}`, "I name: harbour\nI size.width: 12\nI size.deep: true\nI tags: sea, ships\n"},
		{"long values", `{"note":"` + strings.Repeat("The tide came in. ", 10) + `"}`, "I note:\nP " + strings.TrimSpace(strings.Repeat("The tide came in. ", 10)) + "\n"},
		{"a list of objects", `[{"name":"Anna","born":1980},{"name":"Ben","born":1975}]`, "R name: Anna | born: 1980\nR name: Ben | born: 1975\n"},
		{"numbers", `[[1,2],[3,4]]`, "I 1, 2, 3, 4\n"},
		{"a text", `"hello there"`, "I hello there\n"},
		{"cut off", `{"a":[1,2`, "!  not JSON: unexpected EOF\n"},
		{"not JSON", `hello`, "!  not JSON: invalid character 'h' looking for beginning of value\n"},
		{"deep", strings.Repeat("[", 5000), "!  nested too deep\n"},
	}, JSON)
}

func TestNotebook(t *testing.T) {
	c, err := Notebook([]byte(`{"cells":[{"cell_type":"markdown","source":["# Tides\n","They come."]},{"cell_type":"code","source":"x = 1","outputs":["no"]}],"metadata":{"authors":[{"name":"Anna"}]}}`))
	must(t, err)
	if want := "H1 Tides\nP They come.\nC x = 1\n"; formatContent(c) != want || c.Author != "Anna" {
		t.Errorf("author %q, outline %q, want %q", c.Author, formatContent(c), want)
	}
}

func TestParseDate(t *testing.T) {
	day := time.Date(2024, 3, 5, 0, 0, 0, 0, time.UTC)
	for s, want := range map[string]time.Time{
		"2024-03-05": day, "2024/03/05": day, "20240305": day, "March 5, 2024": day, "5 Mar 2024": day, "5.3.2024": day, "2024-03": day.AddDate(0, 0, -4),
		"2024-03-05T10:00:00+01:00": day.Add(9 * time.Hour), "2024-03-05 09:00:00": day.Add(9 * time.Hour), "Tue, 5 Mar 2024 09:00:00 +0000": day.Add(9 * time.Hour),
		"Tue Mar 05 09:00:00 +0000 2024": day.Add(9 * time.Hour), "1709629200": day.Add(9 * time.Hour), "1709629200000": day.Add(9 * time.Hour), "1709629200.5": day.Add(9*time.Hour + 500*time.Millisecond),
		"": {}, "yesterday": {}, "03/05/2024": {}, "7": {}, "-1": {}, "99999": {}, "0000-00-00": {}, "NaN": {}, "1e300": {}, "9999-12-31": {},
	} {
		if got := parseDate(s); !got.Equal(want) {
			t.Errorf("%q is %v, want %v", s, got, want)
		}
	}
}

func TestHostileRecords(t *testing.T) {
	racetest.Skip(t, "one goroutine, which reads hostile files")
	const n = 1 << 20
	for name, c := range map[string]struct {
		file string
		read func([]byte) iter.Seq2[Part, error]
	}{
		"arrays":          {strings.Repeat("[", n), JSON},
		"closed arrays":   {strings.Repeat("[", 99) + strings.Repeat("1,", n) + "1" + strings.Repeat("]", 99), JSON},
		"objects":         {strings.Repeat(`{"a":`, n/5), JSON},
		"long names":      {`{"` + strings.Repeat("x", n) + `":{` + strings.Repeat(`"a":1,`, n/6) + `"b":2}}`, JSON},
		"empty objects":   {"[" + strings.Repeat("{},", n/3) + "{}]", JSON},
		"commas":          {strings.Repeat(",", n), CSV},
		"quotes":          {strings.Repeat(`"`, n+1), CSV},
		"names of names":  {strings.Repeat(strings.Repeat("n", 59)+"x,", 1) + strings.Repeat("y,", 900) + "\n" + strings.Repeat("1,", n/2), CSV},
		"rows":            {strings.Repeat("a\n", n/2), CSV},
		"lines of braces": {strings.Repeat("{\n", n/2), JSONLines},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			for p, err := range c.read([]byte(c.file)) {
				if err == nil {
					checkDocument(t, NewDocument("/f", "f", p.Content))
				}
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func checkAllParts(t *testing.T, parts iter.Seq2[Part, error]) {
	t.Helper()
	keys := map[string]bool{}
	for p, err := range parts {
		if err != nil {
			continue
		}
		if keys[p.Key] {
			t.Fatalf("the key %q is there twice", p.Key)
		}
		keys[p.Key] = true
		checkDocument(t, NewDocument("/f", "f", p.Content))
	}
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("id,text,date\n1,\"a, and b, and c, and d\",2024-01-02\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		checkAllParts(t, CSV([]byte(strings.ToValidUTF8(string(file), "?"))))
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"c"}]}`))
	f.Add([]byte(`[{"id":"1","text":"a, and b, and c, and d"}]`))
	f.Fuzz(func(t *testing.T, file []byte) {
		checkAllParts(t, JSON(file))
		checkAllParts(t, JSONLines(file))
		if c, err := Notebook(file); err == nil {
			checkDocument(t, NewDocument("/f", "f", c))
		}
	})
}
