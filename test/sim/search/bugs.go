package search

// Bug is a way for a client to be careless, and what the search must find then.
type Bug struct {
	Name     string
	Careless Careless
	// Finds is part of the expected message, Steps the fewest steps that lead there.
	Finds string
	Steps int
	// Lead is how far A has got when the search begins with B's first read.
	Lead int
}

// Find searches with the bug planted.
func (b Bug) Find() Result {
	return Run(Options{Steps: 6, From: b.Lead, Lead: b.Lead, Terms: 1, Careless: b.Careless})
}

// Bugs are all of them.
var Bugs = []Bug{
	{"the status is written whatever it is now", Careless{StatusVersion: true}, "leads in epoch", 4, 2},
	{"claims are kept in memory", Careless{Claims: true}, "never claimed it", 9, 8},
	{"pods are opened whatever they are now", Careless{PodVersion: true}, "had taken over", 15, 10},
	{"removals name no resourceVersion", Careless{RemovalVersion: true}, "touched it", 15, 12},
	{"removals name neither UID nor resourceVersion", Careless{RemovalVersion: true, RemovalUID: true}, "touched it", 15, 12},
	{"a take-over touches nothing", Careless{Touch: true}, "had taken over", 14, 12},
	{"what is read before a pod is opened comes from the cache", Careless{Reread: true}, "had taken over", 14, 8},
}
