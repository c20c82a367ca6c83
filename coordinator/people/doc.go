// Package people lets people in by who they are in Kubernetes.
//
// A Gate stands before the coordinator's gRPC service. Who shows a certificate
// of the installation's authority goes on as its role says. Everybody else
// shows that they have made a CertificateSigningRequest, into which the API
// server has written who they are, or shows a token, about which the API server
// is asked (TokenReview). Then it is asked whether that person may read
// DatabaseClusters in the namespace (SubjectAccessReview). What is not declared
// open to people is closed to them. DESIGN.md says why.
package people
