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

// Cluster returns the cluster ID of each piece. Pieces of one page or file, and copies
// of one text, share a cluster. The ID is that of the first piece, or its 1-based
// index without ID, so later pieces rename no clusters.
func Cluster(pieces []Piece) []string {
	g := newDisjointSets(len(pieces))
	seen := make(map[string]int)
	signatures, shared := make([]Signature, len(pieces)), index{make(map[uint32][]int32), make([]int, len(pieces))}
	for i, p := range pieces {
		if place := PlaceKey(p); place != "" {
			if first, ok := seen[place]; ok {
				g.mergeSets(first, i)
			} else {
				seen[place] = i
			}
		}
		signatures[i] = Fingerprint(p.Text)
		for _, k := range shared.matchAndAdd(signatures, i) {
			if g.findRoot(k) != g.findRoot(i) && signatures[k].IsCopyOf(signatures[i]) {
				g.mergeSets(k, i)
			}
		}
	}
	ids := make([]string, len(pieces))
	for i := range pieces {
		first := g.findRoot(i)
		if ids[i] = pieces[first].ID; ids[i] == "" {
			ids[i] = strconv.Itoa(first + 1)
		}
	}
	return ids
}

// An index maps a word run to the first pieces that have it.
type index struct {
	byRun  map[uint32][]int32
	common []int // by piece: runs in common with the current one
}

// maxPiecesPerRun bounds the pieces per run. Further pieces share a template, or copy the
// stored ones.
const maxPiecesPerRun = 48

// matchAndAdd returns the pieces that share enough runs with piece i for a comparison, in
// order. It then adds piece i.
func (x *index) matchAndAdd(signatures []Signature, i int) (list []int) {
	runs := signatures[i].runs
	var found []int
	for _, h := range runs {
		same := x.byRun[h]
		for _, k := range same {
			if x.common[k] == 0 {
				found = append(found, int(k))
			}
			x.common[k]++
		}
		if len(same) < maxPiecesPerRun {
			x.byRun[h] = append(same, int32(i))
		}
	}
	for _, k := range found {
		if x.common[k]*16 >= min(len(runs), len(signatures[k].runs), maxRuns/8) {
			list = append(list, k)
		}
		x.common[k] = 0
	}
	slices.Sort(list)
	return list
}

// PlaceKey returns the key of the page or file of a piece, equal for all spellings of its
// address; "" if unknown.
func PlaceKey(p Piece) string {
	for _, at := range []string{p.URL, p.Source} {
		if a, ok := parseAddress(at); ok {
			return a.pageKey()
		}
	}
	if p.Source == "" {
		return ""
	}
	return "file:" + p.Source
}

// A disjointSets is a partition of 0..n-1; the least element is the root of its group.
type disjointSets []int

func newDisjointSets(n int) disjointSets {
	g := make(disjointSets, n)
	for i := range g {
		g[i] = i
	}
	return g
}

func (g disjointSets) findRoot(i int) int {
	for g[i] != i {
		g[i] = g[g[i]]
		i = g[i]
	}
	return i
}

func (g disjointSets) mergeSets(a, b int) {
	a, b = g.findRoot(a), g.findRoot(b)
	g[max(a, b)] = min(a, b)
}

// maxText is the maximum number of bytes read of a text.
const maxText = 32 << 10

// maxName is the maximum number of bytes of a quoted name.
const maxName = 83

// A Piece is a piece of evidence. Unknown fields are zero.
type Piece struct {
	ID        string // used in the sentences of signals
	Source    string // a path or the name of a collection
	URL       string // of a page
	Title     string
	Author    string
	Text      string // quote or whole text
	Kind      string // user item: memory, document, post, journal, thread; page: "" or web
	Published time.Time
	Fetched   time.Time
	Score     float64 // relevance on any scale; not judged
	Provider  string  // not judged
	Local     bool    // a page read from disk, not over the network
}

// Judge returns all signals of a piece at time now, except corroboration, which needs
// other pieces.
func Judge(p Piece, now time.Time) []ponder.Signal {
	list := []ponder.Signal{sourceSignal(p), dateSignal(p, now), authorSignal(p)}
	text := foldedWords(textkit.Visible(textkit.Prefix(p.Text, maxText)))
	list = append(list, directnessSignal(text))
	for _, judge := range []func(Piece, string) (ponder.Signal, bool){transportSignal, advertisingSignal, addressedSignal} {
		if s, ok := judge(p, text); ok {
			list = append(list, s)
		}
	}
	return list
}

var signalShares = map[string]float64{
	"source": 0.6, "directness": 0.3, "corroboration": 0.3, "date": 0.2, "author": 0.15, "transport": 0.05, "advertising": 0.5, "addressed": 0.8,
}

// Weight combines signals into 0..1 by the formula of the package comment. Without
// signals it is 1. The last signal of a name counts.
func Weight(signals []ponder.Signal) float64 {
	weight := 1.0
	for i, s := range signals {
		if slices.ContainsFunc(signals[i+1:], func(o ponder.Signal) bool { return o.Name == s.Name }) {
			continue
		}
		value := s.Value
		if !(value >= 0) { // also for NaN
			value = 0
		}
		weight *= 1 - signalShares[s.Name]*(1-min(1, value))
	}
	return weight
}

// Instructions to programs, by language: ignore instructions, restrict answers or
// citations, reveal system prompts, run searches. Forms that also address people, such
// as how to cite a page, are absent.
var (
	// wordInstructions matches the words of a text from [foldedWords].
	wordInstructions = regexp.MustCompile(` (?:` + strings.Join([]string{
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

	// unspacedInstructions matches a text without white space.
	unspacedInstructions = regexp.MustCompile(strings.Join([]string{
		`(?:忽略|无视|無視|忘记|忘記|不要理会)[^。！？]{0,8}(?:之前|以上|先前|前面|上述|以前)[^。！？]{0,6}(?:指令|指示|说明|說明|提示|命令|规则|規則)`,
		`[只仅僅][能需]?回答[“"「：:]`, `[只仅僅]能?引用[本这這此]`, `系[统統]提示[词詞语語]`, `(?:执行|執行|运行|運行)(?:以下|下列|这个|這個)?搜[索尋寻]`,
		`(?:以前|これまで|上記|前|先)の[^。！？]{0,8}(?:指示|命令|指令|プロンプト|ルール)[^。！？]{0,6}(?:無視|忘れ|従わない)`,
		`とだけ(?:回答|答え)`, `のみを?(?:回答して|答えて|答えよ)`, `システムプロンプト`, `(?:この|本)(?:ページ|記事|サイト)(?:だけ|のみ)を引用`, `(?:次の|以下の)検索を(?:実行|行)`,
	}, "|"))
)

// findInstruction returns the first instruction to a program in text, whose words are words,
// or "".
func findInstruction(text, words string) string {
	if said := wordInstructions.FindString(words); said != "" {
		return strings.TrimSpace(said)
	}
	if !strings.ContainsFunc(text, func(r rune) bool { return r >= 0x3040 }) {
		return ""
	}
	return unspacedInstructions.FindString(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text))
}
