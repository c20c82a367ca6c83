// Package probe observes the local database, and keeps the latest snapshot of what
// the agent knows, from which its reports and headlines are made.
package probe
