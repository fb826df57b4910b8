// Package simulation simulates whole systems in virtual time: the store, the engine, two nodes,
// the provider of the models, clients and clocks, with faults that a seed chooses. See
// docs/design/simulation.md.
package simulation
