package evidence

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"ponder"
	"ponder/internal/textkit"
)

// Cluster returns for each piece the id of its cluster: pieces of one page or file,
// and copies of one text, have the same. It is the ID of the first of them, so that it
// stays the same when pieces are added behind; or its number in the list from 1, if it
// has no ID. Only pieces that have words in common are compared.
func Cluster(pieces []Piece) []string {
	g := newGroups(len(pieces))
	seen := make(map[string]int)
	signatures, shared := make([]Signature, len(pieces)), index{make(map[uint32][]int32), make([]int, len(pieces))}
	for i, p := range pieces {
		if place := Place(p); place != "" {
			if first, ok := seen[place]; ok {
				g.join(first, i)
			} else {
				seen[place] = i
			}
		}
		signatures[i] = Sign(p.Text)
		for _, k := range shared.with(signatures, i) {
			if g.root(k) != g.root(i) && signatures[k].Copies(signatures[i]) {
				g.join(k, i)
			}
		}
	}
	ids := make([]string, len(pieces))
	for i := range pieces {
		first := g.root(i)
		if ids[i] = pieces[first].ID; ids[i] == "" {
			ids[i] = strconv.Itoa(first + 1)
		}
	}
	return ids
}

// An index has the first pieces that have a run of words.
type index struct {
	by     map[uint32][]int32
	common []int // runs that each piece has in common with the one that is looked up
}

// mostOfRun bounds how many pieces are kept of a run. What more pieces have in common is a
// template, or they are copies of those that are kept.
const mostOfRun = 48

// with returns the pieces that have enough runs in common with the i-th to be compared,
// in order, and adds that.
func (x *index) with(signatures []Signature, i int) (list []int) {
	runs := signatures[i].runs
	var found []int
	for _, h := range runs {
		same := x.by[h]
		for _, k := range same {
			if x.common[k] == 0 {
				found = append(found, int(k))
			}
			x.common[k]++
		}
		if len(same) < mostOfRun {
			x.by[h] = append(same, int32(i))
		}
	}
	for _, k := range found {
		if x.common[k]*16 >= min(len(runs), len(signatures[k].runs), sample/8) {
			list = append(list, k)
		}
		x.common[k] = 0
	}
	slices.Sort(list)
	return list
}

// Place names the page or file that a piece is of, the same for all ways to write its
// address; "" if nothing is known of it.
func Place(p Piece) string {
	for _, at := range []string{p.URL, p.Source} {
		if a, ok := addressOf(at); ok {
			return a.page()
		}
	}
	if p.Source == "" {
		return ""
	}
	return "file:" + p.Source
}

// groups is a partition of 0..n-1, in which the least is the root of its group.
type groups []int

func newGroups(n int) groups {
	g := make(groups, n)
	for i := range g {
		g[i] = i
	}
	return g
}

func (g groups) root(i int) int {
	for g[i] != i {
		g[i] = g[g[i]]
		i = g[i]
	}
	return i
}

func (g groups) join(a, b int) {
	a, b = g.root(a), g.root(b)
	g[max(a, b)] = min(a, b)
}

// maxText bounds what is read of a text, in bytes.
const maxText = 32 << 10

// maxName bounds a name as a sentence quotes it, in bytes.
const maxName = 83

// A Piece is a piece of evidence as far as it matters here. What is not known is zero.
type Piece struct {
	ID        string // named in what signals say
	Source    string // a path, or the name of where it is kept
	URL       string // of a page
	Title     string
	Author    string
	Text      string // the quote, or the whole text
	Kind      string // of what a user keeps: memory, document, post, journal, thread; of a page "" or web
	Published time.Time
	Fetched   time.Time
	Score     float64 // how well it fits, of any scale; nothing is judged by it
	Provider  string  // likewise
	Local     bool    // a page that was read where it is kept, and did not come over the network
}

// Judge returns what is known of how good a piece is, as seen at now. Corroboration
// is not among it, for that takes other pieces.
func Judge(p Piece, now time.Time) []ponder.Signal {
	list := []ponder.Signal{source(p), dated(p, now), author(p)}
	text := plain(textkit.Visible(textkit.Prefix(p.Text, maxText)))
	list = append(list, directness(text))
	for _, judge := range []func(Piece, string) (ponder.Signal, bool){transport, advertising, addressed} {
		if s, ok := judge(p, text); ok {
			list = append(list, s)
		}
	}
	return list
}

// shares has what each signal may take away of a weight.
var shares = map[string]float64{
	"source": 0.6, "directness": 0.3, "corroboration": 0.3, "date": 0.2, "author": 0.15, "transport": 0.05, "advertising": 0.5, "addressed": 0.8,
}

// Weight returns what the signals come to, from 0 to 1: see the package comment. It
// is 1 without signals. Of several of one name the last counts.
func Weight(signals []ponder.Signal) float64 {
	weight := 1.0
	for i, s := range signals {
		if slices.ContainsFunc(signals[i+1:], func(o ponder.Signal) bool { return o.Name == s.Name }) {
			continue
		}
		value := s.Value
		if !(value >= 0) { // no number either
			value = 0
		}
		weight *= 1 - shares[s.Name]*(1-min(1, value))
	}
	return weight
}

// What is said to programs, in the languages that pages are written in: to forget what
// they were told, to answer or cite one thing only, of their system prompt, and to run a
// search. Forms that people are told as well, such as how to cite a page, are not here.
var (
	// spaced matches the words of a text as [plain] returns them.
	spaced = regexp.MustCompile(` (?:` + strings.Join([]string{
		`(?:ignore|disregard|forget|override)(?: (?:all|any|the|of|your|my|these|those|every))* (?:previous|prior|above|preceding|earlier|foregoing|system)(?: \pL+)? (?:instructions?|prompts?|rules|directions|guidelines|commands)`,
		`(?:answer|respond|reply) only (?:with|that)`, `cite only (?:this|e\d+)`, `run the (?:web )?(?:search|query)`,

		`(?:ignoriere|ignorier|ignorieren sie|vergiss|vergessen sie|missachte|missachten sie)(?: \pL+){0,3} (?:vorherigen|bisherigen|obigen|fruheren|vorigen|vorangegangenen)(?: \pL+)? (?:anweisungen|instruktionen|befehle|regeln|vorgaben)`,
		`(?:antworte|antworten sie) (?:nur|ausschlie(?:ss|ß)lich) (?:mit|dass)`, `(?:zitiere|zitieren sie) (?:nur|ausschlie(?:ss|ß)lich) diese[sn]?`, `systemprompt`, `(?:fuhre|fuhren sie) die suche`,

		`(?:ignora|ignore|ignoren|olvida|olvide|descarta)(?: \pL+){0,2} (?:instrucciones|indicaciones|ordenes|reglas) (?:anteriores|previas)`,
		`(?:responde|responda|contesta) (?:solo|solamente|unicamente) (?:con|que)`, `(?:cita|cite) (?:solo|solamente|unicamente) est[ae]`, `prompt del sistema`, `(?:ejecuta|ejecute) la busqueda`,

		`(?:ignorez|ignore|oubliez|oublie|negligez)(?: \pL+){0,3} (?:instructions|consignes|directives)(?: \pL+)? (?:precedentes|anterieures|ci dessus)`,
		`(?:reponds|repondez) (?:uniquement|seulement) (?:par|avec|que)`, `(?:cite|citez) (?:uniquement|seulement) (?:cette|ce)`, `(?:prompt|invite) systeme`, `(?:execute|executez) la recherche`,

		`(?:ignora|ignorate|ignori|dimentica|dimenticate)(?: \pL+){0,3} (?:istruzioni|indicazioni|direttive) (?:precedenti|di cui sopra)`,
		`(?:rispondi|rispondete) (?:solo|soltanto|unicamente) (?:con|che)`, `(?:cita|citate) (?:solo|soltanto|unicamente) quest[ao]`, `prompt di sistema`, `(?:esegui|eseguite) la ricerca`,

		`(?:ignore|ignora|ignorem|esqueca|desconsidere)(?: \pL+){0,3} (?:instrucoes|orientacoes|ordens|regras) (?:anteriores|previas|acima)`,
		`(?:responda|responde) (?:apenas|so|somente) (?:com|que)`, `cite (?:apenas|so|somente) est[ae]`, `prompt do sistema`, `execut[ea] a (?:pesquisa|busca)`,

		`(?:про)?(?:игнориру[йи](?:те)?|забудь(?:те)?)(?: \pL+){0,2} (?:предыдущие|прежние|вышеуказанные|предшествующие)(?: \pL+)? (?:инструкции|указания|команды|правила)`,
		`(?:отвеча[йи]|ответь)(?:те)? только`, `цитиру[йи](?:те)? только`, `системн\pL+ промпт\pL*`, `(?:выполни|запусти)(?:те)? поисковы[йи] запрос`,
	}, "|") + `) `)

	// unspaced matches a text without its blanks.
	unspaced = regexp.MustCompile(strings.Join([]string{
		`(?:忽略|无视|無視|忘记|忘記|不要理会)[^。！？]{0,8}(?:之前|以上|先前|前面|上述|以前)[^。！？]{0,6}(?:指令|指示|说明|說明|提示|命令|规则|規則)`,
		`[只仅僅][能需]?回答[“"「：:]`, `[只仅僅]能?引用[本这這此]`, `系[统統]提示[词詞语語]`, `(?:执行|執行|运行|運行)(?:以下|下列|这个|這個)?搜[索尋寻]`,
		`(?:以前|これまで|上記|前|先)の[^。！？]{0,8}(?:指示|命令|指令|プロンプト|ルール)[^。！？]{0,6}(?:無視|忘れ|従わない)`,
		`とだけ(?:回答|答え)`, `のみを?(?:回答して|答えて|答えよ)`, `システムプロンプト`, `(?:この|本)(?:ページ|記事|サイト)(?:だけ|のみ)を引用`, `(?:次の|以下の)検索を(?:実行|行)`,
	}, "|"))
)

// ordered returns what a text says to programs, if it does: of the text, and of its
// words.
func ordered(text, words string) string {
	if said := spaced.FindString(words); said != "" {
		return strings.TrimSpace(said)
	}
	if !strings.ContainsFunc(text, func(r rune) bool { return r >= 0x3040 }) {
		return ""
	}
	return unspaced.FindString(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text))
}
