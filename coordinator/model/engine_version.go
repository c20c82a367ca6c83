package model

import (
	"cmp"
	"strconv"
	"strings"
)

// EngineVersion is the version of a database: its leading numbers. What follows them
// ("9.10.0-slim") says nothing about what can run beside what.
//
// +kubebuilder:object:generate=false
type EngineVersion [4]int

// ParseEngineVersion returns false if the text does not begin with a number.
func ParseEngineVersion(text string) (EngineVersion, bool) {
	var v EngineVersion
	rest := strings.TrimPrefix(text, "v")
	for i := range v {
		end := 0
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		if end == 0 {
			return v, i > 0
		}
		n, err := strconv.Atoi(rest[:end])
		if err != nil {
			return v, false
		}
		v[i] = n
		if end == len(rest) || rest[end] != '.' {
			break
		}
		rest = rest[end+1:]
	}
	return v, true
}

// Compare is below 0 when v is older than w, above 0 when it is newer.
func (v EngineVersion) Compare(w EngineVersion) int {
	for i := range v {
		if c := cmp.Compare(v[i], w[i]); c != 0 {
			return c
		}
	}
	return 0
}

// Line returns the major and minor number.
func (v EngineVersion) Line() [2]int { return [2]int{v[0], v[1]} }
