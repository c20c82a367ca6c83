// Package serve answers requests over gRPC and HTTP, and decides who may ask.
package serve
