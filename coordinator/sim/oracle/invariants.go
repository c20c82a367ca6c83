package oracle

// Invariant is one that the oracle holds a run to.
type Invariant struct{ Name, What string }

// Invariants are all of them, in order.
var Invariants = []Invariant{
	{"I1", "no shard above its limit and no budget overdrawn by a pod that Rollcall takes"},
	{"I2", "Rollcall never makes more pods unavailable than may be"},
	{"I3", "the last copy of a shard stays"},
	{"I4", "every removal has an earlier claim of the remover's epoch, which is nobody else's"},
	{"I5", "and names the UID and resourceVersion that were checked"},
	{"I6", "none after a newer leader has written to the pod"},
	{"I7", "no pod goes that is well and up to date"},
	{"I8", "the overseer goes last"},
	{"I9", "vetoes are honoured"},
	{"I10", "the pod, and another of each of its shards, has looked since it was claimed and the last pod went"},
	{"I11", "at the end no mark, claim, open guard, lowered partition, throttled setting is left, and nobody else's entry is touched"},
	{"I12", "no secret in the log or the status"},
	{"I13", "nobody goes while a person has paused everything, only looks on or has closed the windows"},
	{"I14", "no two pods are labelled as the primary, and none whose writes its agent was ordered to stop"},
	{"G1", "no removal takes the primary component, and of all votes more than half are left, however many are missing"},
	{"G2", "no member goes that sends its data, nor the only one from which another can get it"},
	{"V1", "no volume is deleted that has data, or that no claim calls empty"},
	{"V2", "data comes back to a pod only under its claim, if it stays, or has gone and is not wanted any more, and was not called empty or has lost its volumes, or if it has new ones"},
	{"V3", "no pod goes with copies whose data is gone with it"},
	{"L1", "once faults and edits are over, the rollout ends"},
	{"L2", "on the last template"},
	{"L3", "whoever waits has a reason with a name"},
	{"L4", "the label of a primary is on the pod that takes the writes, in the end and, where nothing is wrong, all the time but for seconds"},
}
