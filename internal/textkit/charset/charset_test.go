package charset

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

func TestDecodeLegacy(t *testing.T) {
	for _, c := range []struct {
		name string
		enc  encoding.Encoding
		text string
	}{
		{"cp1251", charmap.Windows1251, "Мы договорились встретиться в пятницу у вокзала."},
		{"cp1251 with English", charmap.Windows1251, "Meeting notes: Анна обещала прислать отчёт by Friday."},
		{"cp1251 capitals", charmap.Windows1251, "ПРОТОКОЛ СОБРАНИЯ № 5"},
		{"KOI8-R", charmap.KOI8R, "Мы договорились встретиться в пятницу у вокзала."},
		{"GBK", simplifiedchinese.GBK, "我们决定在星期五开会，讨论新的预算和计划。"},
		{"GB18030", simplifiedchinese.GB18030, "这个酒店的早餐很好，我明年还会来。"},
		{"Shift_JIS", japanese.ShiftJIS, "会議は金曜日の午後三時に始まります。"},
		{"EUC-JP", japanese.EUCJP, "会議は金曜日の午後三時に始まります。"},
		{"EUC-KR", korean.EUCKR, "회의는 금요일 오후 세 시에 시작합니다."},
		{"Big5", traditionalchinese.Big5, "我們決定在星期五開會，這個計畫是新的。"},
		{"cp1250", charmap.Windows1250, "Příliš žluťoučký kůň úpěl ďábelské ódy."},
		{"Latin-1 German", charmap.Windows1252, "Straße, Übung, Ärger, größer, Mädchen"},
		{"Latin-1 French", charmap.Windows1252, "Où est passée la clé de la forêt ? À Noël, déjà."},
		{"Latin-1 Spanish", charmap.Windows1252, "¿Dónde está el niño? Mañana será otro día."},
		{"cp1250 Hungarian", charmap.Windows1250, "Az igazgatóság jóváhagyta a jövő évi költségvetést, a kiadások nőnek."},
		{"cp1250 Polish", charmap.Windows1250, "Zarząd zatwierdził budżet na przyszły rok, wydatki wzrosną o dziesięć procent."},
		{"cp1253 Greek", charmap.Windows1253, "Το συμβούλιο ενέκρινε τον προϋπολογισμό του επόμενου έτους."},
		{"cp1254 Turkish", charmap.Windows1254, "Yönetim kurulu gelecek yılın bütçesini onayladı, satış bölümü yeni çalışanlar alacak."},
		{"one letter", charmap.Windows1252, "The café is closed."},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw, err := c.enc.NewEncoder().Bytes([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := Decode(raw); err != nil || got != c.text {
				t.Errorf("decode: %q, %v, want %q", got, err, c.text)
			}
		})
	}
}

func TestDecodeUnsure(t *testing.T) {
	noise := make([]byte, 4096)
	x := uint32(1)
	for i := range noise {
		x = x*1664525 + 1013904223
		noise[i] = byte(x>>24) | 0x80
	}
	if text, err := Decode(noise); err == nil {
		t.Errorf("noise is a text: %.60q", text)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "\xff\xfea\x00b", "a\x00b\x00c\x00d\x00e\x00f\x00g\x00h\x00", "caf\xe9", "\x1b$B$3$s\x1b(B", "\x00\x00\xfe\xff", "\x83e\x83X\x83g", "\xef\xbb\xbf\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		text, err := Decode(file)
		if err == nil && (!utf8.ValidString(text) || IsBinary(text)) {
			t.Fatalf("decode %q: %q", file, text)
		}
		if utf8.Valid(file) && err == nil && len(text) == 0 && len(file) > 3 {
			t.Fatalf("decode %q: empty", file)
		}
	})
}

func TestDecodePage(t *testing.T) {
	long := strings.Repeat("plain ASCII. ", 100)
	for name, c := range map[string]struct{ header, raw, name, want string }{
		"UTF-8":                   {"text/html", "für", "utf-8", "für"},
		"UTF-8, mark":             {"text/html", "\xef\xbb\xbffür", "utf-8", "für"},
		"UTF-8, late":             {"text/html", long + "für", "utf-8", long + "für"},
		"UTF-8, said Latin-1":     {"text/html; charset=ISO-8859-1", "für", "utf-8", "für"},
		"UTF-8, damaged":          {"text/html; charset=utf-8", strings.Repeat("für ", 30) + "\xff", "utf-8", strings.Repeat("für ", 30) + "\ufffd"},
		"Latin-1":                 {"text/html; charset=ISO-8859-1", "f\xfcr", "windows-1252", "für"},
		"Latin-1, unsaid":         {"text/html", "f\xfcr", "windows-1252", "für"},
		"Latin-1, said UTF-8":     {"text/html; charset=utf-8", "f\xfcr", "windows-1252", "für"},
		"Latin-1, late":           {"text/html", long + "f\xfcr", "windows-1252", long + "für"},
		"Windows-1252":            {"text/plain; charset=windows-1252", "\x93x\x94 \x80", "windows-1252", "“x” €"},
		"Windows-1251":            {"text/html; charset=windows-1251", "\xcf\xf0\xe8\xe2\xe5\xf2", "windows-1251", "Привет"},
		"KOI8-R, in the page":     {"text/html", "<meta charset=koi8-r>\xf0\xd2\xc9", "koi8-r", "<meta charset=koi8-r>При"},
		"Shift_JIS, http-equiv":   {"text/html", `<meta http-equiv=Content-Type content="text/html; charset=Shift_JIS">` + "\x93\xfa\x96{", "shift_jis", `<meta http-equiv=Content-Type content="text/html; charset=Shift_JIS">日本`},
		"GBK":                     {"text/html; charset=gb2312", "\xc4\xe3\xba\xc3", "gbk", "你好"},
		"EUC-KR":                  {"text/html; charset=euc-kr", "\xb0\xa1", "euc-kr", "가"},
		"UTF-16, mark":            {"text/html", "\xff\xfef\x00\xfc\x00r\x00", "utf-16le", "für"},
		"UTF-16, big, mark":       {"text/html", "\xfe\xff\x00f\x00\xfc\x00r", "utf-16be", "für"},
		"UTF-16, header":          {"text/html; charset=utf-16le", "f\x00\xfc\x00r\x00", "utf-16le", "für"},
		"unknown":                 {"text/html; charset=klingon", "für", "utf-8", "für"},
		"mark against the header": {"text/html; charset=windows-1251", "\xef\xbb\xbffür", "utf-8", "für"},
		"empty":                   {"text/html; charset=", "", "utf-8", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, label, err := DecodePage([]byte(c.raw), c.header)
			if err != nil || got != c.want || label != c.name {
				t.Errorf("%q as %s, %v; not %q as %s", got, label, err, c.want, c.name)
			}
		})
	}
}

func FuzzDecodePage(f *testing.F) {
	f.Add([]byte("\xff\xfef\x00"), "text/html; charset=iso-2022-jp")
	f.Add([]byte("<meta charset=replacement>"), "")
	f.Fuzz(func(t *testing.T, raw []byte, header string) {
		text, _, err := DecodePage(raw, header)
		if err == nil && (strings.ToValidUTF8(text, "") != text || len(text) > 12*len(raw)+64) {
			t.Fatalf("%d bytes of %d: %q", len(text), len(raw), text)
		}
	})
}
