// Package people lets people in by who they are in Kubernetes.
//
// A Gate stands before the coordinator's gRPC service. Who shows a certificate
// of the installation's authority goes on as its role says. Everybody else
// shows the token of their kubeconfig: the API server says whose it is
// (TokenReview), and whether that person may read DatabaseClusters in the
// namespace asked about (SubjectAccessReview). What is not declared open to
// people is closed to them.
package people
