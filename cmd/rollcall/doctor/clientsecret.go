package doctor

import "github.com/rollcall-dev/rollcall/coordinator/model"

// clientSecretOf is the Secret with the client's certificate of the agents; empty means none.
func clientSecretOf(c model.Connection) string { return "" }
