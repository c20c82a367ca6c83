// Package cluster is a database cluster as one snapshot has it, joined and counted: pods with their
// claims, nodes and reports, groups with their remaining members, zones, units, and what is
// unavailable.
//
// It states facts, and never whether a pod may go: the rules of package policy use it, and it knows
// none of them. Like policy it imports only the standard library and the model. DESIGN.md of policy
// has its invariants.
package cluster
