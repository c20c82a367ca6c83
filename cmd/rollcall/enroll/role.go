package enroll

import "github.com/rollcall-dev/rollcall/coordinator/model"

// smallestRole is the role of the agents' user, as it is made; empty where only the documents have it.
func smallestRole(e model.Engine) string { return "" }
