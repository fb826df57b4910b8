// Package tokens decodes the token IDs that clients send instead of text. Clients of OpenAI's
// embeddings use the encoding cl100k_base.
//
// cl100k_base.gz has the length of each token, one byte, and then the tokens, in the order of their
// IDs. It is the vocabulary of tiktoken.
package tokens

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"sync"
)

//go:embed cl100k_base.gz
var packed []byte

// size is the number of tokens without the special ones.
const size = 100256

// special are the tokens of control texts.
var special = map[int]string{
	100257: "<|endoftext|>", 100258: "<|fim_prefix|>", 100259: "<|fim_middle|>", 100260: "<|fim_suffix|>", 100276: "<|endofprompt|>",
}

// vocabulary returns the start of each token in text, and text.
var vocabulary = sync.OnceValues(func() (starts []int, text []byte) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(err) // part of the program
	}
	all, err := io.ReadAll(r)
	if err != nil || len(all) < size {
		panic(fmt.Sprint("the vocabulary is damaged: ", err))
	}
	starts = make([]int, size+1)
	for i, n := range all[:size] {
		starts[i+1] = starts[i] + int(n)
	}
	return starts, all[size:]
})

// Decode returns the text of token IDs, or the index of an unknown one.
func Decode(ids []int) (text string, unknown int, ok bool) {
	starts, all := vocabulary()
	var b bytes.Buffer
	for i, id := range ids {
		switch {
		case id >= 0 && id < size:
			b.Write(all[starts[id]:starts[id+1]])
		case special[id] != "":
			b.WriteString(special[id])
		default:
			return "", i, false
		}
	}
	return string(bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD"))), 0, true
}
