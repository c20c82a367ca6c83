package dashboard

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

type scale struct {
	above float64 // the unit is for values from here on
	per   float64
	name  string
}

var (
	plain    = []scale{{0, 1, ""}}
	seconds  = []scale{{31536000, 31536000, " years"}, {604800, 604800, " weeks"}, {86400, 86400, " days"}, {3600, 3600, " hours"}, {60, 60, " mins"}, {1, 1, " s"}, {1e-3, 1e-3, " ms"}, {0, 1e-6, " µs"}}
	bytesIEC = []scale{{1 << 40, 1 << 40, " TiB"}, {1 << 30, 1 << 30, " GiB"}, {1 << 20, 1 << 20, " MiB"}, {1 << 10, 1 << 10, " KiB"}, {0, 1, " B"}}
)

func counted(of string) []scale {
	return []scale{{1e6, 1e6, "M" + of}, {1e3, 1e3, "K" + of}, {0, 1, of}}
}

// units are those of Grafana that this package knows.
var units = map[string][]scale{
	"": plain, "none": plain, "string": plain, "short": counted(""), "s": seconds, "bytes": bytesIEC,
	"ops": counted(" ops/s"), "cps": counted(" c/s"), "percentunit": {{0, 0.01, "%"}},
}

// Format writes a value in its unit, to about three digits unless decimals are given.
func Format(v float64, unit string, decimals *int) string {
	if math.IsNaN(v) {
		return "NaN"
	}
	for _, s := range units[unit] {
		if math.Abs(v) < s.above && v != 0 {
			continue
		}
		if v == 0 { // in the unit of ones: 0 s, 0 B
			s = ones(unit)
		}
		n := v / s.per
		if decimals != nil {
			return strconv.FormatFloat(n, 'f', *decimals, 64) + s.name
		}
		digits := 0
		if abs := math.Abs(n); abs < 100 && abs > 0 {
			digits = min(6, 2-int(math.Floor(math.Log10(abs))))
		}
		text := strconv.FormatFloat(n, 'f', digits, 64)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		return text + s.name
	}
	return fmt.Sprint(v)
}

func ones(unit string) scale {
	for _, s := range units[unit] {
		if s.per == 1 {
			return s
		}
	}
	return units[unit][0]
}

// ticks are at most n round values that cover 0 (or least) to most.
func ticks(least, most float64, unit string, n int) []float64 {
	if most <= least {
		most = least + 1
	}
	step := roundStep((most-least)/float64(n), unit)
	var out []float64
	for v := math.Floor(least/step) * step; ; v += step {
		out = append(out, v)
		if v >= most-step*1e-9 {
			return out
		}
	}
}

func roundStep(atLeast float64, unit string) float64 {
	if unit == "s" && atLeast > 10 {
		for _, step := range []float64{15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800, 1209600, 4 * 604800, 13 * 604800, 31536000} {
			if step >= atLeast {
				return step
			}
		}
	}
	base := 1.0
	if unit == "bytes" && atLeast > 1024 {
		base = math.Pow(1024, math.Floor(math.Log(atLeast)/math.Log(1024)))
	}
	size := base * math.Pow(10, math.Floor(math.Log10(atLeast/base)))
	for _, by := range []float64{1, 2, 5} {
		if by*size >= atLeast*(1-1e-9) {
			return by * size
		}
	}
	return 10 * size
}
