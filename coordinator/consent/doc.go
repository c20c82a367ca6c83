// Package consent finds out what the people who may write a Secret allow. A person who may edit a
// DatabaseCluster names Secrets and hosts, but may not be allowed to read a Secret. So a Secret
// itself says, in its metadata, for which DatabaseClusters it is and to which hosts its content may
// be sent. The content of Secrets with credentials is never read.
package consent
