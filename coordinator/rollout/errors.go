package rollout

import (
	"errors"

	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// noteSuperseded takes in whether an error means that another coordinator leads.
func (a *step) noteSuperseded(err error) {
	if errors.Is(err, effect.ErrSuperseded) || errors.Is(err, effect.ErrStaleEpoch) {
		a.s.superseded = true
	}
}
