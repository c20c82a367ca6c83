package foundationdb

import "errors"

var (
	// ErrClosed means that the engine was closed.
	ErrClosed = errors.New("foundationdb engine is closed")
	// ErrTimeout means that fdbcli did not end in time, and was ended.
	ErrTimeout = errors.New("fdbcli did not answer in time")
	// ErrTooMuch means that fdbcli printed more than an answer may have.
	ErrTooMuch = errors.New("fdbcli printed too much")
	// ErrStatus means that what fdbcli printed is not a status document of FoundationDB.
	ErrStatus = errors.New("not a status document")
	// ErrUnavailable means that the database itself could not be asked.
	ErrUnavailable = errors.New("the database is unavailable")
	// ErrRecovering means that nothing is included until the database has recovered.
	ErrRecovering = errors.New("the database is recovering")
	// ErrLocked means that nothing is included while somebody has locked the database.
	ErrLocked = errors.New("the database is locked")
	// ErrWrongDatabase means that the answer is of another database than the cluster file's.
	ErrWrongDatabase = errors.New("another database answered")
	// ErrNotThere means that the database has no process of the pod.
	ErrNotThere = errors.New("no process of the pod is in the database")
	// ErrCommand means that fdbcli said that it did not do what it was told.
	ErrCommand = errors.New("fdbcli refused")
)
