package corpus

// renamed maps recorded names of rules, reasons, actions, drains and phases to the current ones.
var renamed = map[string]string{
	"line-stopped": "rollout-halted",
	"settling":     "failure-detection",
	"unstable":     "conflict",
	"Preparing":    "Draining",
	"Prepared":     "Drained",
}

// differences explains each entry that is now decided differently on purpose. The key
// is the ID of a decision, or the ID of a journal, "#" and the index of the entry.
// Listing an entry that does not differ is a failure.
var differences = map[string]string{}
