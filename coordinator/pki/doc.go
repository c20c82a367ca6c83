// Package pki makes and keeps the certificates with which coordinators,
// agents and people know each other.
//
// One certificate authority per installation signs everything but the webhook's
// certificates. Its key is in the Secret rollcall-ca of the installation's namespace
// and nowhere else. The webhook has an authority of its own, in rollcall-webhook-ca.
// Authority and Issue are pure; Store reads and writes the Secrets; Keeper and Webhook
// give a running coordinator TLS configurations that follow renewals without
// a restart.
package pki
