package agent

import "slices"

// maxOvers bounds what is remembered. An order can be late by seconds, and a pod
// is given a new claim once in many: this is far more than can matter.
const maxOvers = 256

// over is a claim that was restored, and the epoch in which it was.
type over struct {
	claim string
	epoch int64
}

// overs are the claims restored last, the oldest first. A connection that stalls
// can deliver a prepare after the restore that followed it; nobody would undo
// what that one does. The next coordinator, in its own epoch, may prepare again.
type overs []over

func (o *overs) add(claim string, epoch int64) {
	kept := slices.DeleteFunc(*o, func(known over) bool {
		if known.claim == claim {
			epoch = max(epoch, known.epoch)
		}
		return known.claim == claim
	})
	if len(kept) == maxOvers {
		kept = slices.Delete(kept, 0, 1)
	}
	*o = append(kept, over{claim, epoch})
}

// covers says whether an order of that epoch comes too late.
func (o overs) covers(claim string, epoch int64) bool {
	return slices.ContainsFunc(o, func(known over) bool { return known.claim == claim && epoch <= known.epoch })
}
