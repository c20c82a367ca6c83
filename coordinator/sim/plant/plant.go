// Package plant says which bug is planted. Only sources that were changed for
// that ask for it: see the command of the simulation.
package plant

// On is the name of the bug; empty means none. It is set while nothing runs.
var On string

// Is reports whether a bug is planted.
func Is(name string) bool { return On == name }
