// Package wire looks at a message of an agent before it is decoded.
//
// Two bytes on the wire can be a structure of a hundred in memory, so that a message
// within any bound of bytes can be more than a coordinator has. Here the fields are
// counted first, and what they will take is added up, without keeping any.
package wire
