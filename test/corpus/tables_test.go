package corpus

// renamed maps names that were recorded (of rules, reasons, actions, prepares and
// phases) to those of today.
var renamed = map[string]string{}

// differences says of each entry that is decided in another way today why that is
// right. The key is the ID of a decision, or that of a journal, "#" and the entry's
// index. An entry that does not differ is a failure.
var differences = map[string]string{}
