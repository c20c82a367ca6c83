// Package cluster is a database cluster as one snapshot has it, joined and counted: pods with their
// claims, nodes and reports, groups with who is left of them, zones, units, and what is
// unavailable.
//
// It says what is the case, and never whether anybody may go: the rules of package policy ask it,
// and it knows none of them. Like policy it imports the standard library and the model only.
// DESIGN.md of policy has its invariants.
package cluster
