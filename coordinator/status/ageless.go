package status

import "regexp"

var ages = regexp.MustCompile(`\b([0-9]+ ?(ms|s|m|h|d))+\b`)

// Ageless returns a text without the parts that count up by themselves.
func Ageless(text string) string { return ages.ReplaceAllString(text, "?") }
