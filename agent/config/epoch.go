package config

// MaxHeardEpoch is the highest epoch that is believed from gossip and from agents that repeat what
// others said. Coordinators count up by one, and never come near it. An attacker with the gossip
// key can make them jump once to the next epoch above this one. Later forged epochs change nothing:
// orders of that epoch pass, and older ones do not. The price is that higher epochs are learned
// only from orders, no longer from other agents.
const MaxHeardEpoch = int64(1) << 52

// HeardEpoch returns an epoch from hearsay, or 0 if it cannot be one.
func HeardEpoch(epoch int64) int64 {
	if epoch < 0 || epoch > MaxHeardEpoch {
		return 0
	}
	return epoch
}
