package main

import (
	_ "embed"
	"fmt"
	"strings"
)

// seedList has a seed for each bug that is known to find it. The search only begins there: after a
// change of Rollcall or of the simulation another seed may find the bug, and is then searched for.
// -update writes the list again.
//
//go:embed seeds.txt
var seedList string

const seedsFile = "test/sim/cmd/seeds.txt"

// parseSeeds reads lines of a seed and the name of a bug.
func parseSeeds(text string) (map[string]uint64, error) {
	seeds := map[string]uint64{}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		var seed uint64
		number, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, err := fmt.Sscanf(number, "%d", &seed); err != nil || name == "" || seed == 0 {
			return nil, fmt.Errorf("seeds.txt, line %d: must be a seed and the name of a bug", i+1)
		}
		seeds[name] = seed
	}
	return seeds, nil
}

// writeSeeds is the list as parseSeeds reads it, in the order of the bugs.
func writeSeeds(all []prey, seeds map[string]uint64) string {
	var text strings.Builder
	for _, p := range all {
		if seed := seeds[p.name]; seed > 0 {
			fmt.Fprintf(&text, "%4d %s\n", seed, p.name)
		}
	}
	return text.String()
}
