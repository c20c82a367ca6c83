package enginetest

// quick are those that tell most in seconds.
var quick = []string{
	"observe a healthy database", "observe is the same from each member", "hand over and restore", "hand over for another member", "repair changes nothing that is well",
}

// cases are the cases of the suite, in the order in which they run.
var cases = []testCase{
	{"facts", false, facts},
	{"observe a healthy database", false, observeHealthy},
	{"observe is the same from each member", false, observeAgrees},
	{"unknown stays unknown", false, unknownStaysUnknown},
	{"observe after a fault", false, observeAfterFault},
	{"context is honoured", false, contextHonoured},
	{"plan changes nothing", false, planChangesNothing},
	{"hand over and restore", false, handOver},
	{"hand over to eligible members", false, handOverToEligible},
	{"hand over for another member", false, handOverForAnother},
	{"hand over all members", false, handOverAll},
	{"the same drain twice", false, prepareTwice},
	{"prepare by two agents at once", false, prepareByTwo},
	{"prepare after a partial failure", false, prepareAfterPartialFailure},
	{"restore twice", false, restoreTwice},
	{"restore what was never applied", false, restoreUnapplied},
	{"restore from another agent", false, restoreFromAnother},
	{"restore after a partial failure", false, restoreAfterPartialFailure},
	{"restore leaves other claims alone", false, restoreLeavesOthers},
	{"a setting of the whole database changes only when it is named", false, sharedOnlyWhenNamed},
	{"a setting of the whole database is put back", false, sharedIsPutBack},
	{"foreign entries stay", false, foreignStays},
	{"no drain is done on a broken server", false, neverDoneOnBroken},
	{"no write after the end", false, noWriteAfterEnd},
	{"wrong orders are refused", false, wrongOrders},
	{"wrong undo is refused", false, wrongUndo},
	{"sweep", false, sweep},
	{"looks of peers are bounded", false, looksAreBounded},
	{"wrong steps are refused", false, wrongSteps},
	{"repair changes nothing that is well", false, repairIsIdle},
	{"closed engines answer errors", false, closed},
	{"evacuate and restore", true, evacuate},
	{"evacuate twice", true, evacuateTwice},
}
