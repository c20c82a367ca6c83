// Package provision makes what the agents of a DatabaseCluster need to find
// and trust each other and the coordinator: a headless Service and a Secret,
// both named <cluster>-rollcall, in the database's namespace.
package provision
