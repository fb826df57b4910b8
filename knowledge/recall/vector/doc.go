// Package vector keeps a vector for each passage, as an embedding model makes
// them, and finds the passages whose vectors point where that of a query does. It
// knows passages by their numbers only.
//
// [Vectors.Put] and [Vectors.Remove] work in the transaction of whoever writes the
// passages. [Vectors.Fill] does in the background what is missing, from batch to
// batch, and changes from one model to another while [Vectors.Search] works with
// the old one; [Vectors.Serving] says which that is. [Fuse] joins what is found
// with a ranking by words, each as much as [Weight] says.
//
// A search compares the query with every vector there is: eight bits of each
// coordinate by way of AVX2 where the processor has it, on all cores, then twelve
// bits of the best. For 384 coordinates that is what exact search finds, in 8 ms
// among 200,000 vectors, which take 111 MiB of memory. They are read at the first
// search; later ones read the blocks that any process has changed since.
//
// # Stored form
//
// The table vector_model has a row for each model, vector_block one for each 64
// passages in a row, which share all but the last six bits of their number. The
// bits of its column present say which of them have a vector. The data of n
// vectors is n times stride bytes of codes, n times half as many of rests, and n
// scales as little-endian float32; stride is the length of a vector, rounded up to
// 32 with zeros. A coordinate of the vector, which has length 1, is
//
//	scale * (16*code + rest - 8)
//
// where the code is from -127 to 127 and the rest from 0 to 15, four bits, of which
// even coordinates have the lower half of a byte. A block without vectors stays as
// an empty row, so that other processes see that it changed.
package vector
