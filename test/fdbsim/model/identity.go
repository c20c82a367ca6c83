package model

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// ProcessID is the identity that a process keeps on its volume: another one on another volume.
func (p *Process) ProcessID() string { return hexID("process", p.Instance, p.Volume, 32) }

func hexID(kind, a, b string, digits int) string {
	sum := sha256.Sum256([]byte(kind + "/" + a + "/" + b))
	return hex.EncodeToString(sum[:])[:digits]
}

func roleID(id int) string { return hexID("role", strconv.Itoa(id), "", 16) }
