package drain

import "slices"

// maxRestoredClaims bounds what is remembered. An order can be late by seconds, and
// a pod gets a new claim once in many: this is far more than can matter.
const maxRestoredClaims = 256

// restoredClaim is a claim and the epoch in which it was restored.
type restoredClaim struct {
	claim string
	epoch int64
}

// restoredClaims are the claims restored last, oldest first. A connection that
// stalls can deliver a drain after the restore that followed it, and nobody would
// undo that. The next coordinator, in its own epoch, may drain again.
type restoredClaims []restoredClaim

func (o *restoredClaims) add(claim string, epoch int64) {
	kept := slices.DeleteFunc(*o, func(known restoredClaim) bool {
		if known.claim == claim {
			epoch = max(epoch, known.epoch)
		}
		return known.claim == claim
	})
	if len(kept) == maxRestoredClaims {
		kept = slices.Delete(kept, 0, 1)
	}
	*o = append(kept, restoredClaim{claim, epoch})
}

// covers reports whether an order of that epoch comes too late.
func (o restoredClaims) covers(claim string, epoch int64) bool {
	return slices.ContainsFunc(o, func(known restoredClaim) bool { return known.claim == claim && epoch <= known.epoch })
}
