package probe

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-dev/rollcall/engines"
)

func slotOf(e engines.Engine) *Slot { return &Slot{engine: e} }

func testProbeMetrics() *Metrics { return NewMetrics(prometheus.NewRegistry(), testBoard()) }
