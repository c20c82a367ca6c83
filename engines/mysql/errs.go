package mysql

import "errors"

// ErrBusy: writes could not be stopped within the time; they go on as before.
var ErrBusy = errors.New("writes in progress did not end in time")
