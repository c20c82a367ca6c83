// Package term limits how long an order is valid, without a clock that two machines share. An agent
// counts its uptime by a clock that nobody sets, and sends it with its answers. The sender of an
// order names the uptime after which nothing may be written. What the agent sent before the order
// was sent bounds the order's delay: an order that arrives after its term has expired, however long
// it was under way.
package term
