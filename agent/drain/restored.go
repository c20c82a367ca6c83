package drain

import "slices"

// maxOvers bounds what is remembered. An order can be late by seconds, and a pod
// is given a new claim once in many: this is far more than can matter.
const maxRestoredClaims = 256

// over is a claim that was restored, and the epoch in which it was.
type restoredClaim struct {
	claim string
	epoch int64
}

// overs are the claims restored last, the oldest first. A connection that stalls
// can deliver a prepare after the restore that followed it; nobody would undo
// what that one does. The next coordinator, in its own epoch, may prepare again.
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

// covers says whether an order of that epoch comes too late.
func (o restoredClaims) covers(claim string, epoch int64) bool {
	return slices.ContainsFunc(o, func(known restoredClaim) bool { return known.claim == claim && epoch <= known.epoch })
}
