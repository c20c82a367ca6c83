// Package term says until when an order is good, without a clock that two
// machines share. An agent counts its uptime by a clock that no one sets and tells
// it with what it answers; who orders names the uptime past which nothing is to
// be written. What was told before an order was sent bounds its delay: an order
// that arrives later than it is good for is over, however long it was under way.
package term
