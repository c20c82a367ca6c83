package model

import (
	"encoding/hex"
	"hash/fnv"
	"strconv"
)

// ProcessID is the identity that a process keeps on its volume: another one on another volume.
func (p *Process) ProcessID() string { return hexID("process", p.Instance, p.Volume, 32) }

func hexID(kind, a, b string, digits int) string {
	h := fnv.New128a()
	for _, part := range []string{kind, a, b} {
		_, _ = h.Write([]byte(part + "/"))
	}
	return hex.EncodeToString(h.Sum(nil))[:digits]
}

func roleID(id int) string { return hexID("role", strconv.Itoa(id), "", 16) }
