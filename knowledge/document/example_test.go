package document_test

import (
	"fmt"

	"ponder/knowledge/document"
)

func Example() {
	page := document.NewDocument("/notes/boats.md", "boats", document.Markdown(`
# Boats

## Repairs

The hull of the *ferry* was repaired in 2019. It cost nine thousand euros.
`))
	docs := document.NewCollection([]*document.Document{page})
	for _, hit := range docs.Search("When was the hull repaired?", 1, document.SearchOptions{}) {
		fmt.Println(hit.Document.Title, ">", hit.Section())
		fmt.Println(hit.Quote)
		fmt.Println(page.Verify(hit.Quote, hit.Start, hit.End))
	}
	// Output:
	// Boats > Repairs
	// The hull of the ferry was repaired in 2019.
	// true
}
