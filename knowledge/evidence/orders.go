package evidence

import (
	"regexp"
	"strings"
	"unicode"
)

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
