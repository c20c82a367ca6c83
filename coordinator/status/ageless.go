package status

import "regexp"

var ages = regexp.MustCompile(`\b([0-9]+ ?(ms|s|m|h|d))+\b`)

// Ageless is a text as it is said at any time: without what counts up in it by itself.
func Ageless(text string) string { return ages.ReplaceAllString(text, "?") }
