// Package inject adds the agent to pods of a database: to a pod as it is
// created, through a mutating webhook, or to the pod template of a
// StatefulSet in a manifest.
//
// Pod and Template are pure. What they add never keeps a database from
// starting: the agent's volumes are optional, it has no probe, and whatever
// goes wrong in the webhook lets the pod through as it was.
package inject
