package main

import (
	_ "embed"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/sim/run"
)

// openFaults are the seeds of the default draw that break an invariant because of a known fault
// that is not fixed yet: a seed, the invariant, and what is known of it.
//
//go:embed open.txt
var openFaults string

// open returns the invariants that the listed seeds break. A seed that breaks another one, and any
// that is not listed, is a new fault.
func open(text string) (map[uint64]string, error) {
	list := map[uint64]string{}
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return nil, fmt.Errorf("open.txt line %d: must be a seed, an invariant and what is known", i+1)
		}
		seed, err := strconv.ParseUint(fields[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("open.txt line %d: %w", i+1, err)
		}
		list[seed] = fields[1]
	}
	return list, nil
}

// isDefault reports whether nothing but seeds was asked for, so the list is about these runs.
func isDefault(o run.Options) bool { return reflect.ValueOf(o).IsZero() }

// stillOpen splits the violations into listed and new ones, and returns which listed seeds no
// longer fail.
func stillOpen(broke map[uint64]string, from, seeds uint64, list map[uint64]string) (known, fresh []uint64, whole []string) {
	for _, seed := range slices.Sorted(maps.Keys(broke)) {
		if want, ok := list[seed]; ok && strings.HasPrefix(broke[seed], want+" ") {
			known = append(known, seed)
		} else {
			fresh = append(fresh, seed)
		}
	}
	for _, seed := range slices.Sorted(maps.Keys(list)) {
		if _, breaks := broke[seed]; !breaks && seed >= from && seed < from+seeds {
			whole = append(whole, fmt.Sprint(seed))
		}
	}
	return known, fresh, whole
}
