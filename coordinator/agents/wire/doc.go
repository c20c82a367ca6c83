// Package wire checks a message of an agent before it is decoded.
//
// Two bytes on the wire can become a hundred in memory, so a message within any limit of bytes can
// be more than a coordinator can hold. This package first counts the fields and adds up their
// memory, without keeping any.
package wire
