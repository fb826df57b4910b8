package document

import (
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

func TestDecodeOld(t *testing.T) {
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
		{"one letter", charmap.Windows1252, "The café is closed."},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw, err := c.enc.NewEncoder().Bytes([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := decode(raw); err != nil || got != c.text {
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
	if text, err := decode(noise); err == nil {
		t.Errorf("noise is a text: %.60q", text)
	}
}
