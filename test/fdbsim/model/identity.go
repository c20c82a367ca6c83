package model

import (
	"fmt"
	"hash/fnv"
)

// ProcessID is the identity that a process keeps on its volume: another one on another volume.
func (p *Process) ProcessID() string { return hexID("process", p.Instance, p.Volume, 32) }

func hexID(kind, a, b string, digits int) string {
	out := ""
	for i := 0; len(out) < digits; i++ {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s/%s/%s/%d", kind, a, b, i)
		out += fmt.Sprintf("%016x", h.Sum64())
	}
	return out[:digits]
}

func roleID(id int) string { return hexID("role", fmt.Sprint(id), "", 16) }
