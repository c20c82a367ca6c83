// Package consent tells what whoever may write a Secret allows with it. Who may edit a
// DatabaseCluster names Secrets and hosts, and does not have to be allowed to read a Secret; so a
// Secret says itself, in its metadata, of which DatabaseClusters it is and to which hosts its
// content may be shown. The content of Secrets with credentials is never asked for.
package consent
