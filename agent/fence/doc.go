// Package fence decides which orders are too old or not for this database, and
// says in a machine-readable way why something was refused.
package fence
