package config

// MaxHeardEpoch is the highest epoch that is believed by hearsay: from gossip, and
// from agents that speak of others. Coordinators count up by one, and never come
// near it. Whoever has the gossip key and makes one up costs them a jump to the
// next above this, once, and what he makes up later changes nothing: orders of
// that epoch pass, and those before it do not. The price: epochs beyond this are
// learned from orders only, no longer from the other agents.
const MaxHeardEpoch = int64(1) << 52

// HeardEpoch is an epoch as it was heard of, or 0 when it cannot be one.
func HeardEpoch(epoch int64) int64 {
	if epoch < 0 || epoch > MaxHeardEpoch {
		return 0
	}
	return epoch
}
