// Package door bounds the connections that a listener takes, so that whoever
// reaches a port neither uses up the program's memory nor keeps others out.
//
// Nobody is turned away at the door: where there is no room, the connection goes
// that has been silent for longest, of whoever has most. So a kubelet that asks
// anew, or an API server that dials, gets in while strangers hold all there is, even
// from an address that a stranger shares with them.
//
// Among strangers those go last that have carried a good request (Served), so that the
// connection that an API server keeps outlives strangers behind the same address.
//
// Strangers and the known are counted apart. Known is who has shown a certificate or
// a token (Keep, KeepConn), and, where a listener says so, who comes from the pod
// itself: nobody does but a port-forward, for which Kubernetes asks rights.
package door
