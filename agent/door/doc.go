// Package door limits the connections of a listener, so that nobody who reaches a
// port can use up the program's memory or keep others out.
//
// Nobody is refused. If there is no room, a connection ends: of the peer that has
// most, the one that has been silent for longest. So a kubelet that connects again,
// or an API server that dials, gets in while strangers hold all there is, even from
// an address that a stranger shares with them.
//
// Among strangers, connections that have carried a good request (Served) are ended
// last, so that the connection that an API server keeps outlives strangers behind
// the same address.
//
// Strangers and known peers are counted separately. A peer is known once it has
// shown a certificate or a token (Keep, KeepConn), and, where a listener says so, if
// it connects from the pod itself: only a port-forward does, for which Kubernetes
// requires rights.
package door
