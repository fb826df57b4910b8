package questionwords

import (
	"strings"
	"testing"
)

func TestLack(t *testing.T) {
	bees := "Bees collect nectar from flowers. A queen lays up to 2,000 eggs a day in summer."
	tests := []struct{ question, quotes, want string }{
		{"How many eggs does a queen lay?", bees, ""},
		{"Please tell me, what do bees do in summer?", bees, ""},
		{"How does nectar work, and why does it matter?", bees, ""},
		{"Why do bees sleep at the moon?", bees, " No quotation contains “sleep” or “moon”."},
		{"Why does a bee sleep?", bees, " No quotation contains “sleep”."},
		{"How many eggs does a queen lay on Mars?", bees, " No quotation contains “Mars”."},
		{"Did bees lay eggs in 1998?", bees, " No quotation contains “1998”."},
		{"Who won the world cup of 1998?", bees, " No quotation contains “won”, “world”, “cup” or “1998”."},
		{"Do bees sleep, dream, dance, sing, fight or mourn?", bees, " No quotation contains “sleep”, “dream”, “dance”, “sing” or 2 more words of the question."},
		{"Why do Bees sleep, and sleep, and SLEEP?", bees, " No quotation contains “sleep”."},
		{"Is it so?", bees, ""},
		{"Were 2000 eggs in the hive?", bees, " No quotation contains “hive”."},
		{"Are there more than 2,000 eggs?", "There are 2000 eggs.", ""},
		{"sea turtles nests", "A turtle of the sea has a nest.", ""},
		{"Bees and wasps", "A bee and a wasp.", ""},
		{"How does C++ differ from C#?", "C++ and C# are languages.", " No quotation contains “differ”."},
		{"Dlaczego pszczoły śpią w nocy?", "Pszczoła śpi nocą, gdy nie ma słońca i jest jej zimno.", ""},
		{"", bees, ""},
		{"…", bees, ""},
		{"Wie entsteht eine Flut?", "Eine Springflut entsteht, wenn Sonne und Mond in einer Linie stehen.", ""},
		{"Was ist eine Springflut und warum gibt es die Nippflut?", "Eine Springflut entsteht, wenn Sonne und Mond in einer Linie stehen.", " No quotation contains “Nippflut”."},
		{"Pourquoi les marées dépendent-elles de la lune ?", "La marée est due à l’attraction de la Lune et du Soleil.", " No quotation contains “dépendent”."},
		{"Wie entstehen die Gezeiten und was hat der Mond damit zu tun?", "The tides are caused by the gravity of the moon and of the sun.", ""}, // another language
		{"What is salt in Vermont?", "sea\nThe sea is salt.", " No quotation contains “Vermont”."},                                               // too short for language detection
		{"蜜蜂为什么睡觉？", "蜜蜂采集花蜜。", ""},
		{"Why does\x1b[31m xyzzy\u202e grow in bees?", bees, " No quotation contains “xyzzy” or “grow”."},
	}
	for _, test := range tests {
		if got := DescribeMissing(test.question, []string{test.quotes}); got != test.want {
			t.Errorf("%q: %q, want %q", test.question, got, test.want)
		}
	}
}

func FuzzLack(f *testing.F) {
	f.Add("Why do bees sleep?", "Bees fly.")
	f.Fuzz(func(t *testing.T, question, quote string) {
		if said := DescribeMissing(question, []string{quote, question}); said != "" {
			t.Errorf("the question itself lacks %q", said)
		}
		if said := DescribeMissing(question, []string{quote}); len(said) > 5*maxWord+200 || strings.ContainsAny(said, "\n\x1b") {
			t.Errorf("%q", said)
		}
	})
}
