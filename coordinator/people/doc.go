// Package people authenticates and authorizes people with Kubernetes.
//
// A Gate protects the coordinator's gRPC service. A client with a certificate of the installation's
// authority may do what its role allows. All others prove that they have created a
// CertificateSigningRequest, into which the API server has written who they are, or send a token,
// which the API server checks (TokenReview). Then the API server is asked whether that person may
// read DatabaseClusters in the namespace (SubjectAccessReview). Methods that are not declared open
// to people are closed to them. DESIGN.md says why.
package people
