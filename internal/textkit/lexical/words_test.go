package lexical_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"

	"github.com/google/go-cmp/cmp"
)

func tokenTexts(s string) (out []string) {
	lexical.Tokens(s, func(t lexical.Token) { out = append(out, s[t.Start:t.End]) })
	return out
}

func TestTokens(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"words and numbers", "Don't pay 3.5% to R2D2!", "Don t pay 3 5 to R2D2"},
		{"genitive", "Anna's dog, Anna’s cat", "Anna dog Anna cat"},
		{"pairs", "人工智能A1", "人工 工智 智能 A1"},
		{"a letter alone", "図", "図"},
		{"Thai", "ไทย", "ไท ทย"},
		{"too long for a word", strings.Repeat("x", 65) + " " + strings.Repeat("y", 64), strings.Repeat("y", 64)},
		{"nothing", " -- !", ""},
		{"broken letters", "a\xffb\xe4", "a b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(tokenTexts(c.text), " "); got != c.want {
				t.Errorf("tokens %q, want %q", got, c.want)
			}
		})
	}
}

func TestSingles(t *testing.T) {
	var got []string
	const text = "図書 a ひら 館"
	lexical.Singles(text, func(t lexical.Token) { got = append(got, text[t.Start:t.End]) })
	if diff := cmp.Diff([]string{"図", "書", "館"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestStem(t *testing.T) {
	for _, c := range []struct {
		lang       lexical.Language
		word, want string
	}{
		{"en", "Running", "run"}, {"en", "promises", "promis"}, {"en", "naïve", "naiv"}, {"en", "B52s", "b52s"}, {"en", "как", "как"},
		{"de", "Verträge", "vertrag"}, {"de", "vertrage", "vertrag"}, {"de", "Straßen", "strass"}, {"de", "Häuser", "haus"},
		{"fr", "parlé", "parl"}, {"fr", "parle", "parl"}, {"fr", "maisons", "maison"},
		{"es", "canciones", "cancion"}, {"es", "canción", "cancion"}, {"it", "libri", "libr"}, {"pt", "livros", "livr"},
		{"ru", "книгами", "книг"}, {"ru", "который", "котор"}, {"tr", "kitaplar", "kitap"}, {"fi", "talossa", "talo"},
		{"sv", "böcker", "bock"}, {"ro", "cărților", "cart"},
		{"", "Running", "running"}, {"xx", "Été", "ete"}, {"pl", "Łódź", "lodz"}, {"en", "12", "12"}, {"en", "as", "as"},
	} {
		if got := lexical.Stem(c.word, c.lang); got != c.want {
			t.Errorf("stem of %q in %q is %q, want %q", c.word, c.lang, got, c.want)
		}
	}
}

func TestStop(t *testing.T) {
	for _, c := range []struct {
		lang lexical.Language
		word string
		want bool
	}{
		{"en", "The", true}, {"de", "the", false}, {"de", "für", true}, {"de", "fur", true}, {"en", "anna", false}, {"", "the", false}, {"fr", "où", true},
		{"ru", "который", true}, {"xx", "the", false},
	} {
		if got := lexical.Stop(c.word, c.lang); got != c.want {
			t.Errorf("stop of %q in %q is %t", c.word, c.lang, got)
		}
	}
}

func TestDetect(t *testing.T) {
	for want, texts := range map[lexical.Language][]string{
		"en": {"I promised Anna to call her before the end of the week.", "Remember to pay the rent", "What did I say to her?"},
		"de": {"Ich habe Anna versprochen, sie vor dem Ende der Woche anzurufen.", "Der Vertrag ist noch nicht unterschrieben", "Wann ist die Frist?"},
		"fr": {"J'ai promis à Anna de l'appeler avant la fin de la semaine.", "Le contrat n'est pas encore signé"},
		"es": {"Le prometí a Ana que la llamaría antes del fin de la semana.", "El contrato no está firmado todavía"},
		"it": {"Ho promesso ad Anna di chiamarla prima della fine della settimana.", "Il contratto non è ancora firmato"},
		"pt": {"Prometi à Ana que lhe ligaria antes do fim da semana.", "O contrato ainda não foi assinado"},
		"nl": {"Ik heb Anna beloofd haar voor het einde van de week te bellen."},
		"sv": {"Jag lovade Anna att ringa henne före slutet av veckan.", "Avtalet är inte undertecknat och vi väntar på dem"},
		"da": {"Jeg lovede Anna at ringe til hende før slutningen af ugen."},
		"fi": {"Lupasin Annalle, että soitan hänelle ennen viikon loppua, mutta en ole vielä ehtinyt."},
		"hu": {"Megígértem Annának, hogy felhívom a hét vége előtt, de még nem volt időm."},
		"ro": {"I-am promis Anei că o voi suna înainte de sfârșitul săptămânii."},
		"ru": {"Я обещал Анне позвонить ей до конца недели.", "Договор еще не подписан"},
		"tr": {"Anna'ya hafta sonundan önce onu arayacağıma söz verdim ama henüz vaktim olmadı."},
		"ar": {"وعدت آنا بأن أتصل بها قبل نهاية الأسبوع"},
		"pl": {"Obiecałem Annie, że zadzwonię do niej przed końcem tygodnia, ale jeszcze nie miałem czasu."},
		"uk": {"Я обіцяв Анні подзвонити їй до кінця тижня, але ще не мав часу, бо їздив до Києва."},
		"ja": {"週末までにアンナに電話すると約束した。"},
		"zh": {"我答应安娜在周末之前给她打电话。"},
		"ko": {"나는 안나에게 주말 전에 전화하겠다고 약속했다."},
		"el": {"Υποσχέθηκα στην Άννα"},
		"":   {"", "12 345", "Zürich 2024", "foo_bar(x) = baz", "xqz wvk jjj", "\xff\xfe"},
	} {
		for _, text := range texts {
			if got, sure := lexical.Detect(text); got != want || sure < 0 || sure > 1 || (sure > 0) != (got != "") {
				t.Errorf("language of %q is %q (%.2f), want %q", text, got, sure, want)
			}
		}
	}
}

func TestLanguages(t *testing.T) {
	for _, lang := range lexical.Languages() {
		if got := lexical.Stem("x", lang); got != "x" {
			t.Errorf("stem of x in %s is %q", lang, got)
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, s := range []string{"Don't pay 3.5%", "人工智能A1", "Ă\xff", "İstanbul", "ｶﾀｶﾅ ー", "Зимой"} {
		f.Add(s)
	}
	langs := append(lexical.Languages(), "", "xx")
	f.Fuzz(func(t *testing.T, s string) {
		lexical.Detect(s)
		at := 0
		check := func(k lexical.Token) {
			if k.Start < at || k.End <= k.Start || k.End > len(s) {
				t.Fatalf("token %+v after %d", k, at)
			}
			at = k.Start
			for _, l := range langs {
				if stem := lexical.Stem(s[k.Start:k.End], l); utf8.ValidString(s) && !utf8.ValidString(stem) {
					t.Fatalf("stem %q in %s", stem, l)
				}
			}
		}
		lexical.Tokens(s, check)
		at = 0
		lexical.Singles(s, check)
	})
}
