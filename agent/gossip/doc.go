// Package gossip tells every agent of one database cluster what every other agent says of itself,
// and whether that agent is alive.
//
// It carries headlines and nothing else, and knows nothing of databases or rollouts. What it says
// may make Rollcall more careful, never bolder. DESIGN.md lists the invariants.
package gossip
