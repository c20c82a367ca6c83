package load

// Request is one request of a database's HTTP interface.
type Request struct {
	Method, Path string
	Body         []byte
}

// Database is how one kind of database is written to, read, and looked through.
type Database interface {
	// Write puts one document under its id. A write that is repeated changes nothing.
	Write(collection, id string) Request
	// Read reaches every shard of a collection, and fails if one of them does not answer.
	Read(collection string) Request
	// Again reports whether a careful client tries a request again that was answered so.
	Again(r Request, status int, answer []byte) bool
	// There returns which of the ids a collection has. All of them begin with the prefix.
	There(ask Ask, collection, prefix string, ids []string) (map[string]bool, error)
}

// Ask sends a request through any Ready pod, with the tries of all others. An
// answer that is not good is an error; what is to be done is its beginning.
type Ask func(what string, r Request, into any) error
