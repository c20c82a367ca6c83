package v1alpha1

import "strings"

// Texts of a status that are made of what databases and people wrote, in bytes. The schema
// allows no longer ones: a status that has one could not be written at all.
const (
	MaxGroup   = 2048
	MaxText    = 8192
	MaxVersion = 512
)

// Texts of a spec, in bytes: those of an override's reason, and the longest that the schema allows at all.
const (
	MaxReason   = 1024
	MaxSpecText = 2048
	// maxStatusText is that of the longest text of a status.
	maxStatusText = 32768
)

// Cut is the text, or its beginning, in at most so many bytes.
func Cut(text string, most int) string {
	const more = "..."
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(more)], "") + more
}
