package claim

import "strings"

func fieldSet(list string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}

var negations = fieldSet(`not no never none nor neither without cannot nothing nobody nowhere hardly scarcely
failed fails fail refused refuses denied denies unable lacks lacked unlikely
nicht kein keine keinen keinem keiner keines nie niemals ohne nichts niemand weder kaum
pas jamais aucun aucune rien sans ni nul nulle guere
nunca jamas ningun ninguna ninguno nada nadie sin tampoco`)

// scopeEnds end the scope of a negation.
var scopeEnds = fieldSet(`but although though however while whereas because until unless aber sondern obwohl weil mais car pero sino aunque porque`)

var genericWords = fieldSet(`also however including include includes included later said says would could one ones may might well new based per among around since during
another many much other others several used use using known named called became become becomes both due via according first`)

var weekdays = fieldSet(`monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag sonntag
lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miercoles jueves viernes sabado domingo`)

var germanPlaces = fieldSet(`von aus nach bei durch herr frau`)

var timeWords = fieldSet(`in since until till by from to of during between before after around early late mid and year circa c ca last next this
im seit bis vor nach ab anfang ende mitte jahr jahre und en depuis avant apres des fin debut an annee desde hasta antes despues ano`)

// A cues holds the words that change the certainty or scope of a sentence.
type cues struct {
	hedge        string // uncertainty word
	only         string // exclusivity word
	quantity     quantityKind
	quantityWord string // its word
	caused       string // causal word
	linked       string // correlation word
	nth          int    // index of the hedge among all words
}

type quantityKind uint8

const (
	quantityNone quantityKind = iota
	quantityFew
	quantitySome
	quantityMost
	quantityAll
)

var hedges = fieldSet(`may might could possibly perhaps probably likely reportedly allegedly apparently supposedly rumored rumoured purportedly
suggests suggest suggested seems seem appears believed suspected expected planned plans planning proposed hopes hoped aims considering potential potentially presumably estimated
konnte konnten moglicherweise vielleicht wahrscheinlich vermutlich angeblich offenbar voraussichtlich anscheinend soll sollen
pourrait pourraient peut peut-etre probablement possiblement semble semblent apparemment selon suppose
podria podrian quizas quiza posiblemente probablemente parece presunto supuestamente`)

var exclusives = fieldSet(`only solely sole exclusively nur ausschliesslich einzige einziger einzigen seulement uniquement seul seule solo solamente unico unica unicamente`)

var quantities = func() map[string]quantityKind {
	set := make(map[string]quantityKind)
	for q, list := range map[quantityKind]string{
		quantityFew:  "few rarely seldom minority wenige wenigen selten minderheit peu rarement pocos pocas raramente",
		quantitySome: "some several sometimes occasionally certain many often frequently einige manche mehrere manchmal oft viele quelques certains certaines plusieurs parfois souvent beaucoup algunos algunas varios varias muchos muchas",
		quantityMost: "most majority mostly usually generally meisten mehrheit meist meistens plupart majorite generalement mayoria generalmente",
		quantityAll:  "all every everyone everybody always entire entirely each universally alle allen aller jeder jede jedes immer samtliche tous toutes chaque toujours todos todas cada siempre",
	} {
		for w := range strings.FieldsSeq(list) {
			set[w] = q
		}
	}
	return set
}()

var causes = fieldSet(`causes caused cause causing leads led because due verursacht verursachte fuhrt fuhrte cause provoque entraine causa causo provoca provoco`)

var links = fieldSet(`associated association linked correlated correlation correlates correlate korreliert zusammenhang assoziiert associe associee correle lie asociado asociada relacionado correlacion`)

func findCues(atoms []atom) (c cues) {
	for i, a := range atoms {
		switch {
		case hedges[a.fold] && c.hedge == "" && (a.fold != "may" || !a.upper) && !(a.fold == "likely" && i > 0 && atoms[i-1].fold == "less"):
			c.hedge, c.nth = a.fold, i
		case exclusives[a.fold] && c.only == "" && !(i > 0 && (atoms[i-1].fold == "not" || atoms[i-1].fold == "nicht")):
			c.only = a.fold
		}
		if q := quantities[a.fold]; q > c.quantity && isQuantifier(atoms, i) {
			c.quantity, c.quantityWord = q, a.fold
		}
		if causes[a.fold] && !(a.fold == "due" && i > 0 && negations[atoms[i-1].fold]) {
			c.caused = a.fold
		}
		if links[a.fold] {
			c.linked = a.fold
		}
	}
	return c
}

// isQuantifier reports whether the word at i is a quantifier: "most people", not "the
// most expensive", "at most" or "after all".
func isQuantifier(atoms []atom, i int) bool {
	if i == 0 {
		return true
	}
	switch atoms[i].fold {
	case "most":
		return atoms[i-1].fold != "the" && atoms[i-1].fold != "at"
	case "all":
		return atoms[i-1].fold != "after" && atoms[i-1].fold != "above" && atoms[i-1].fold != "at"
	}
	return true
}

// commonWords are the most frequent verbs, nouns and adjectives of running text. They
// say little, and sources often use others.
var commonWords = fieldSet(`out off up down over under again once back away together able take takes took taken taking make makes made making get gets got give gives given gave go goes went gone
come comes came put puts set sets keep kept let begin begins began begun start starts started end ends ended become show shows showed shown find finds found see sees saw seen know knows knew look looked
work works worked working play plays played playing run runs ran lead leads led bring brought hold holds held turn turned move moved live lived lives believe receive receives received provide provides provided
allow allows allowed help helps helped add adds added follow follows followed following create creates created appear appears appeared feature features featured featuring place places placed part parts
time times year years day days month months week weeks people person man men woman women thing things way ways case cases number numbers group groups area areas world life home house side point points
name names state states country city town company school family member members kind type types form forms role series line lines high higher highest low lower lowest large larger largest small smaller smallest
big great greater greatest good better best long longer longest short old older oldest young early earlier late latter last next previous former current currently several various certain different similar same
main major popular notable noted famous important real full final finally own public common general special particular total early eventually recently originally initially later soon ago today now then still
already even quite rather very just only about almost nearly well often usually mainly mostly together instead along across throughout within toward towards upon near next alongside despite although announce announced
announces release released releases state stated states report reported reports describe described describes call calls called refer referred consider considered base based locate located serve serves served
result results resulted reason reasons due cause support supported involve involved remain remains remained continue continued continues leave left return returned reach reached win won lose lost open opened opens close closed
plan plans planned begin beginning happen happened seem seems want wanted need needed try tried use uses used mean means meant say told tell tells ask asked write wrote written join joined order
gross macht machen gemacht gibt geben gab kommen kommt kam gehen geht ging stehen steht stand liegt lag bleibt blieb wurde jahr jahre jahren tag zeit teil menschen land stadt neue neuen neuer alte alten erste ersten
faire fait font mettre prendre pris donner venir annee annees jour jours temps partie gens pays ville nouveau nouvelle grand grande premier premiere
hacer hace hizo poner tomar dar venir ano anos dia dias tiempo parte gente pais ciudad nuevo nueva grande primer primera`)
