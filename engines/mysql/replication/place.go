package replication

import (
	"fmt"
	"strconv"
	"strings"
)

// Place is a place in a binary log.
type Place struct {
	File     string `json:"file"`
	Position uint64 `json:"position"`
}

func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Position) }

// AtLeast reports whether the place is the other one or after it. known is false if the two are not
// of one log.
func (p Place) AtLeast(other Place) (reached, known bool) {
	log, n, ok := p.split()
	otherLog, m, otherOK := other.split()
	switch {
	case !ok || !otherOK || log != otherLog:
		return false, false
	case n != m:
		return n > m, true
	}
	return p.Position >= other.Position, true
}

// split returns the name of the log and the number of the file.
func (p Place) split() (log string, number uint64, ok bool) {
	i := strings.LastIndexByte(p.File, '.')
	if i <= 0 {
		return "", 0, false
	}
	number, err := strconv.ParseUint(p.File[i+1:], 10, 64)
	return p.File[:i], number, err == nil
}
