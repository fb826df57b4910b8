package recall_test

import (
	"fmt"

	"ponder/recall"
)

func Example() {
	page := recall.NewDocument("/notes/boats.md", "boats", recall.Markdown(`
# Boats

## Repairs

The hull of the *ferry* was repaired in 2019. It cost nine thousand euros.
`))
	docs := recall.NewCollection([]*recall.Document{page})
	for _, hit := range docs.Search("When was the hull repaired?", 1, recall.SearchOptions{}) {
		fmt.Println(hit.Document.Title, ">", hit.Section())
		fmt.Println(hit.Quote)
		fmt.Println(page.Verify(hit.Quote, hit.Start, hit.End))
	}
	// Output:
	// Boats > Repairs
	// The hull of the ferry was repaired in 2019.
	// true
}
